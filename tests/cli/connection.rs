//! How the broker is named, and what is said when it is not there.

use std::io::Write;

use crate::stage::{Stage, bezoar, plain, ran};

#[tokio::test]
async fn without_a_broker_the_three_ways_to_name_one_are_told() {
    let ran = plain("topics").await;
    for way in ["--bootstrap", "BEZOAR_BOOTSTRAP", "--config"] {
        ran.fails(2, way);
    }
}

#[tokio::test]
async fn the_broker_is_named_by_flag_variable_or_file() {
    let stage = Stage::new().await;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "bootstrap = [{:?}]", stage.bootstrap).unwrap();
    let path = file.path().to_str().unwrap().to_owned();

    plain(&format!("topics --bootstrap {}", stage.bootstrap)).await.ends(0);
    plain(&format!("--bootstrap {} topics", stage.bootstrap)).await.ends(0);
    plain(&format!("topics --config {path}")).await.ends(0);
    let mut variable = bezoar(["topics"]);
    variable.env("BEZOAR_BOOTSTRAP", &stage.bootstrap);
    ran(variable).await.ends(0);
    let mut variable = bezoar(["topics"]);
    variable.env("BEZOAR_CONFIG", &path);
    ran(variable).await.ends(0);

    // Flags come first, then variables, then the file.
    writeln!(file, "\n# a comment").unwrap();
    let mut flag = stage.command(["topics", "--bootstrap", "127.0.0.1:1"]);
    flag.env("BEZOAR_CONFIG", &path);
    ran(flag).await.fails(3, "127.0.0.1:1");
    let mut variable = bezoar(["topics"]);
    variable.env("BEZOAR_BOOTSTRAP", "127.0.0.1:1").env("BEZOAR_CONFIG", &path);
    ran(variable).await.fails(3, "127.0.0.1:1");
}

#[tokio::test]
async fn a_broker_that_is_not_there_is_said_by_the_exit_code() {
    plain("dlq list orders.dlq --bootstrap 127.0.0.1:1").await.fails(3, "no broker reachable at 127.0.0.1:1");
}

#[tokio::test]
async fn an_address_that_is_none_is_a_mistake_of_the_command_line() {
    for wrong in ["localhost", "http://localhost:9092", "localhost:9092,other", "localhost:port"] {
        plain(&format!("topics --bootstrap {wrong}")).await.fails(2, "write HOST:PORT");
    }
}

#[tokio::test]
async fn what_is_connected_to_is_logged_where_that_is_asked_for() {
    let stage = Stage::new().await;
    let ran = stage.run("topics -v").await;
    ran.ends(0);
    assert!(ran.stderr.contains("connected") && ran.stderr.contains(&stage.bootstrap), "{}", ran.stderr);
    assert!(!ran.stderr.contains('\u{1b}'), "no terminal, no colours: {:?}", ran.stderr);
}

#[tokio::test]
async fn security_that_makes_no_sense_is_told_before_anything_is_sent() {
    let line = "topics --bootstrap 127.0.0.1:1";
    plain(&format!("{line} --sasl-username alice")).await.fails(2, "--sasl-mechanism");
    let ran_without = plain(&format!("{line} --sasl-mechanism plain --sasl-username alice")).await;
    for way in ["--sasl-password-file", "BEZOAR_SASL_PASSWORD", "security.sasl.password"] {
        ran_without.fails(2, way);
    }
    plain(&format!("{line} --sasl-mechanism plain")).await.fails(2, "--sasl-username");
    plain(&format!("{line} --tls-ca-file /no/such/file")).await.fails(2, "--tls-ca-file = \"/no/such/file\"");
    plain(&format!("{line} --sasl-mechanism PLAIN --sasl-password hunter2")).await.fails(2, "--sasl-password");
    plain(&format!("{line} --config /no/such/file")).await.fails(2, "/no/such/file");
    let mut unset =
        bezoar(format!("{line} --sasl-mechanism PLAIN --sasl-username a --sasl-password-env NOT_SET_HERE").split(' '));
    unset.env_remove("NOT_SET_HERE");
    ran(unset).await.fails(2, "NOT_SET_HERE");
}

#[tokio::test]
async fn sasl_without_tls_reaches_the_broker_with_the_password_of_a_variable() {
    let stage = Stage::new().await;
    // The embedded broker and that of the tests want no SASL: what is said shows that it was tried.
    let mut command = stage.command("topics --sasl-mechanism PLAIN --sasl-username alice".split(' '));
    command.env("BEZOAR_SASL_PASSWORD", "hunter2");
    let ran = ran(command).await;
    ran.fails(3, "PLAIN");
    assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
}
