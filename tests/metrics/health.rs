use std::time::Duration;

use bezoar::consumer::{Escalation, RestartPolicy};
use bezoar::policy::Backoff;
use bezoar::web::{self, PrometheusError};
use bezoar::{Delivery, FactoryContext, Failure, Handler, Utf8, factory_fn, handler_fn};

use crate::support::{Cluster, eventually, serve};

/// Handles anything, where it can be made.
struct Good;

impl Handler for Good {
    type Message = String;
    type Error = Failure;

    async fn handle(&mut self, _: String, _: Delivery) -> Result<(), Failure> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_is_ready_once_it_has_joined_until_it_ends() {
    let cluster = Cluster::start().await;
    let (group, topic) = (cluster.name("ready"), cluster.topic("ready", 1).await);
    cluster.values(&topic, 0, ["a", "b", "c"]).await;
    let handler = handler_fn(|_: String, _: Delivery| async { Ok::<(), Failure>(()) });
    let consumer = cluster.consumer(&group).topic(&topic, Utf8, handler).start().await.unwrap();
    let served = serve([consumer.handle()]).await;
    // Not yet a member, as a rule: then it says so.
    let (status, answer) = served.json("/health/ready").await;
    let reasons = answer["consumers"][0]["reasons"].to_string();
    assert!(status == 200 || reasons.contains("not a member of its group"), "{status} {answer}");
    eventually("it is ready", async || served.get("/health/ready").await.0 == 200).await;
    consumer.caught_up().await;
    let (status, health) = served.json("/health").await;
    assert_eq!((status, &health["ready"]), (200, &true.into()), "{health}");
    let of_consumer = &health["consumers"][0];
    assert_eq!((of_consumer["group"].as_str(), &of_consumer["joined"]), (Some(group.as_str()), &true.into()));
    assert_eq!(of_consumer["counts"]["topics"][&topic]["handled"], 3);
    let partition = &of_consumer["partitions"][0];
    assert_eq!((partition["topic"].as_str(), &partition["partition"]), (Some(topic.as_str()), &0.into()));
    assert_eq!((&partition["state"], &partition["position"]), (&"running".into(), &3.into()), "{partition}");
    assert_eq!((&partition["watermark"], &partition["lag"]), (&3.into(), &0.into()), "{partition}");

    consumer.pause_all().await;
    let (status, health) = served.json("/health").await;
    let partition = &health["consumers"][0]["partitions"][0];
    assert_eq!((status, &partition["state"], &partition["paused"]), (200, &"paused".into(), &true.into()));
    assert!(partition["reason"].as_str().unwrap().contains("paused"), "{partition}");

    consumer.shutdown().await.unwrap();
    let (status, answer) = served.json("/health/ready").await;
    assert_eq!((status, &answer["ready"]), (503, &false.into()));
    assert!(answer["consumers"][0]["reasons"].to_string().contains("has ended"), "{answer}");
    assert_eq!(served.json("/health/live").await, (200, serde_json::json!({ "live": true })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_partition_makes_its_consumer_unready_and_says_why() {
    let cluster = Cluster::start().await;
    let topic = cluster.topic("stopped", 2).await;
    let policy = RestartPolicy::default()
        .max_per_partition(1)
        .backoff(Backoff::fixed(Duration::from_millis(1)))
        .escalation(Escalation::StopPartition);
    let factory = factory_fn(|context: FactoryContext| async move {
        match context.partition().partition() {
            0 => Ok(Good),
            _ => Err("the licence has expired".into()),
        }
    });
    let group = cluster.name("stopped");
    let ill = cluster.lone(&group).restart(policy).topic(&topic, Utf8, factory).start().await.unwrap();
    let other = cluster.name("well");
    let handler = handler_fn(|_: String, _: Delivery| async { Ok::<(), Failure>(()) });
    let well = cluster.lone(&other).topic(&topic, Utf8, handler).start().await.unwrap();
    let served = serve([well.handle(), ill.handle()]).await;
    eventually("it is not ready", async || served.get("/health/ready").await.0 == 503).await;
    let (_, answer) = served.json("/health/ready").await;
    assert_eq!(answer["consumers"][0], serde_json::json!({ "group": other, "ready": true, "reasons": [] }));
    assert_eq!(answer["consumers"][1]["group"], group);
    let reasons = answer["consumers"][1]["reasons"].as_array().unwrap();
    let [reason] = &reasons[..] else { panic!("{answer}") };
    let reason = reason.as_str().unwrap();
    assert!(reason.contains(&format!("{topic}/1")) && reason.contains("the licence has expired"), "{reason}");
    let (status, health) = served.json("/health").await;
    let partitions = health["consumers"][1]["partitions"].as_array().unwrap();
    let states: Vec<_> = partitions.iter().map(|partition| partition["state"].as_str().unwrap()).collect();
    assert_eq!((status, states), (200, vec!["running", "stopped"]));
    ill.shutdown().await.unwrap();
    well.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_endpoint_answers_what_it_knows_and_refuses_the_rest() {
    let cluster = Cluster::embedded().await;
    let topic = cluster.topic("plain", 1).await;
    let handler = handler_fn(|_: String, _: Delivery| async { Ok::<(), Failure>(()) });
    let consumer = cluster.lone(&cluster.name("plain")).topic(&topic, Utf8, handler).start().await.unwrap();
    let served = serve([consumer.handle()]).await;
    let (status, metrics) = served.get("/metrics").await;
    assert_eq!(status, 200);
    for line in ["# TYPE bezoar_handled_total counter", "# HELP bezoar_handled_total Deliveries that succeeded"] {
        assert!(metrics.lines().any(|found| found == line), "{line} is not in\n{metrics}");
    }
    let (status, answer) = served.json("/nowhere").await;
    assert_eq!(status, 404);
    assert!(answer["paths"].to_string().contains("/health/ready"), "{answer}");
    let (status, _) = served.send("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(status, 405);
    let (status, body) = served.send("HEAD /health/live HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert_eq!((status, body.as_str()), (200, ""));
    consumer.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_in_use_and_a_second_recorder_are_errors_that_say_what_to_do() {
    let listener = web::listen("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let error = web::listen(&address).await.unwrap_err().to_string();
    assert!(error.contains(&address) && error.contains("free port"), "{error}");
    crate::support::prometheus();
    let error = web::prometheus().unwrap_err();
    assert_eq!(error, PrometheusError::AlreadyInstalled);
    assert!(error.to_string().contains("Endpoint::metrics"), "{error}");
}
