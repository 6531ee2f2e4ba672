//! `dlq replay` with `--fix` and `--edit`.

use serde_json::{Value, json};

use crate::stage::{Ran, Stage, ran};

impl Stage {
    /// Replays with a jq program.
    async fn fix(&self, program: &str, more: &str) -> Ran {
        let mut args = vec!["dlq".to_owned(), "replay".into(), "--fix".into(), program.to_owned()];
        args.extend(more.replace("$ORDERS", &self.orders).split_whitespace().map(str::to_owned));
        ran(self.command(args)).await
    }

    /// Edits one dead letter by a script, to which the file is `$1`.
    #[cfg(unix)]
    async fn edit(&self, place: &str, script: &str, more: &str) -> Ran {
        use std::io::Write;
        use std::os::unix::fs::PermissionsExt;
        let mut file = tempfile::Builder::new().prefix("editor with spaces").tempfile().unwrap();
        write!(file, "#!/bin/sh\n{script}\n").unwrap();
        file.as_file().set_permissions(PermissionsExt::from_mode(0o700)).unwrap();
        // Closed for writing, or it could not be run.
        let path = file.into_temp_path();
        let mut args = vec!["dlq", "replay", place, "--edit"];
        args.extend(more.split_whitespace());
        let mut command = self.command(args);
        command.env("EDITOR", format!("'{}' --", path.display()));
        ran(command).await
    }

    /// The values of the source topic.
    async fn values(&self) -> Vec<String> {
        self.records(&self.orders)
            .await
            .into_iter()
            .map(|record| String::from_utf8(record.value.unwrap().into()).unwrap())
            .collect()
    }
}

#[tokio::test]
async fn a_jq_program_changes_each_value_and_its_diff_is_shown_first() {
    let stage = Stage::new().await;
    let (validation, _) = stage.fill().await;
    let fixed = stage.fix(".items |= [.]", "--source $ORDERS --category validation --yes").await;
    let text = fixed.ends(0);
    let diff = format!(
        "--- {validation}/0/0 as it is\n+++ {validation}/0/0 as it is sent\n header tenant: blue\n {{\n   \"order_id\": \"ord_0\",\n-  \"items\": \"broken\"\n+  \"items\": [\n+    \"broken\"\n+  ]\n }}\n"
    );
    assert!(text.contains(&diff), "{text}");
    assert_eq!(text.matches("as it is sent").count(), 3, "three are shown: {text}");
    assert!(text.contains("… and so on: 4 records in all"), "{text}");
    assert!(text.ends_with("replayed 4, failed 0, skipped 0\n"), "{text}");
    let expected: Vec<String> = (0..4).map(|n| format!(r#"{{"order_id":"ord_{n}","items":["broken"]}}"#)).collect();
    assert_eq!(stage.values().await, expected);
}

#[tokio::test]
async fn a_program_that_fails_for_a_letter_leaves_it() {
    let stage = Stage::new().await;
    let (validation, poison) = stage.fill().await;
    for (program, says) in [
        ("error(\"not this one\")", "not this one"),
        ("empty", "no result"),
        (".order_id, .items", "more than one result"),
        ("def f: f; f", "not done after 5s"),
        ("reduce range(60) as $i (\"x\"; . + .)", "more than 1024 MiB"),
        ("def f: 1 + f; f", "crashed"),
        ("nan", "no JSON"),
        ("halt", "the program halts"),
    ] {
        let ran = stage.fix(program, &format!("{validation}/0/1 --yes --output json")).await;
        assert_eq!(ran.code, Some(1), "{program}: {ran:?}");
        let lines = ran.json();
        let [.., summary] = &lines[..] else { panic!("{program}: {ran:?}") };
        assert_eq!((&summary["failed"], &summary["success"]), (&json!(1), &json!(0)), "{program}");
        assert!(ran.stdout.contains(says), "{program}: {}", ran.stdout);
    }
    // What is no JSON cannot be fixed.
    let ran = stage.fix(".", &format!("{poison}/0/0 --yes")).await;
    assert!(ran.ends(1).contains("the value is no JSON"), "{}", ran.stdout);
    assert_eq!(stage.values().await, Vec::<String>::new());
    // One that fails does not keep the others.
    let ran = stage
        .fix("if .order_id == \"ord_1\" then error(\"no\") else . end", "--source $ORDERS --category validation --yes")
        .await;
    assert!(ran.ends(1).contains("replayed 3, failed 1, skipped 0"), "{}", ran.stdout);
    assert_eq!(stage.values().await.len(), 3);
}

/// The environment has the password for SASL, and whatever else a deployment puts there.
#[tokio::test]
async fn a_program_sees_neither_the_environment_nor_files() {
    let stage = Stage::new().await;
    let (validation, _) = stage.fill().await;
    let mut fixing = stage.command(["dlq", "replay", "--fix", ".env = env", &format!("{validation}/0/1"), "--yes"]);
    fixing.env("BEZOAR_SASL_PASSWORD", "hunter2").env("AWS_SECRET_ACCESS_KEY", "hunter2");
    let fixed = ran(fixing).await;
    assert!(!fixed.ends(0).contains("hunter2") && !fixed.stdout.contains("BEZOAR_"), "{}", fixed.stdout);
    for value in stage.values().await {
        assert!(!value.contains("hunter2") && !value.contains("PATH"), "{value}");
    }
    for program in ["$ENV", "input", "inputs", "input_filename", "import \"/etc/passwd\" as $p; $p", "include \"x\"; ."]
    {
        stage.fix(program, &format!("{validation}/0/2 --yes")).await.fails(2, "--fix is no jq program");
    }
}

#[tokio::test]
async fn a_program_that_is_none_is_told_before_anything_is_done() {
    let stage = Stage::new().await;
    stage.fill().await;
    stage.fix("nosuch(1)", "--source $ORDERS --all --yes").await.fails(2, "undefined filter: nosuch");
    stage.fix(".a |= ", "--source $ORDERS --all --yes").await.fails(2, "--fix is no jq program");
    let nested = format!("{}.{}", "(".repeat(30_000), ")".repeat(30_000));
    stage.fix(&nested, "--source $ORDERS --all --yes").await.fails(2, "nested too deeply");
}

#[tokio::test]
async fn a_program_that_changes_nothing_keeps_the_bytes() {
    let stage = Stage::new().await;
    let topic = stage.dlq("unknown");
    stage.create(&topic, 1).await;
    let value = r#"{"b":1.10,"a":12345678901234567890123,"s":"é"}"#;
    stage.produce(crate::stage::Letter::new(0, "unknown", "E", "m").record(&topic).value(value)).await;
    let ran = stage.fix(".", &format!("{topic}/0/0 --yes")).await;
    assert!(ran.ends(0).contains("unchanged"), "{}", ran.stdout);
    assert_eq!(stage.values().await, [value]);
}

#[cfg(unix)]
#[tokio::test]
async fn an_editor_changes_one_value() {
    let stage = Stage::new().await;
    let (validation, poison) = stage.fill().await;
    let edited = stage.edit(&format!("{validation}/0/2"), "sed -i 's/\"broken\"/[]/' \"$2\"", "--yes").await;
    let text = edited.ends(0);
    assert!(text.contains("-  \"items\": \"broken\"\n+  \"items\": []\n"), "{text}");
    assert!(text.contains(&format!("{validation}/0/2: sent to {}/0/0", stage.orders)), "{text}");
    let edited = stage.edit(&format!("{poison}/0/0"), "printf 'Zuerich\\n' > \"$2\"", "--yes").await;
    assert!(edited.ends(0).contains("-Zürich\n+Zuerich\n"), "{}", edited.stdout);
    assert_eq!(stage.values().await, [r#"{"order_id":"ord_2","items":[]}"#, "Zuerich"]);
}

#[cfg(unix)]
#[tokio::test]
async fn an_edit_that_comes_to_nothing_sends_nothing() {
    let stage = Stage::new().await;
    let (validation, _) = stage.fill().await;
    let place = format!("{validation}/0/2");
    let unchanged = stage.edit(&place, "true", "--yes").await;
    assert_eq!(unchanged.ends(4), "");
    assert!(unchanged.stderr.contains("nothing was sent"), "{}", unchanged.stderr);
    stage.edit(&place, "false", "--yes").await.fails(1, "failed (exit status: 1): nothing was sent");
    let broken = stage.edit(&place, "printf '{\"a\": ' > \"$2\"", "--yes").await;
    broken.fails(1, "the value was JSON and is none any more");
    // What was written is kept.
    let path = broken.stderr.trim_end().rsplit_once(" is in \"").unwrap().1.trim_end_matches('"').to_owned();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"a\": ");
    std::fs::remove_file(path).unwrap();
    assert_eq!(stage.values().await, Vec::<String>::new());
    let sent = stage.edit(&place, "true", "--yes --send-unchanged").await;
    assert!(sent.ends(0).contains("replayed 1, failed 0, skipped 0"), "{}", sent.stdout);
    assert_eq!(stage.values().await, [r#"{"order_id":"ord_2","items":"broken"}"#]);
}

#[tokio::test]
async fn an_edit_is_for_one_dead_letter_and_needs_an_editor() {
    let stage = Stage::new().await;
    let (validation, _) = stage.fill().await;
    stage
        .run(&format!("dlq replay {validation}/0/0 {validation}/0/1 --edit --yes"))
        .await
        .fails(2, "--edit is for one dead letter");
    stage.run("dlq replay --source $ORDERS --all --edit --yes").await.fails(2, "--edit is for one dead letter");
    stage.run(&format!("dlq replay {validation}/0/0 --edit --yes")).await.fails(2, "VISUAL or EDITOR");
    stage.run(&format!("dlq replay {validation}/0/0 --edit --fix . --yes")).await.fails(2, "cannot be used with");
}

#[tokio::test]
async fn a_dry_run_shows_the_diff_and_what_would_fail() {
    let stage = Stage::new().await;
    stage.fill().await;
    let program = "if .order_id == \"ord_0\" then error(\"no\") else .total = 1 end";
    let ran = stage.fix(program, "--source $ORDERS --category validation --dry-run").await;
    let text = ran.ends(1);
    assert!(text.contains("+  \"total\": 1\n"), "{text}");
    assert!(text.contains("would send 3 dead letters to"), "{text}");
    assert!(
        text.contains("failed 1: the fix failed: the program fails: \"no\"")
            || text.contains("failed 1: the fix failed: the program fails: no"),
        "{text}"
    );
    let lines = stage.fix(program, "--source $ORDERS --category validation --dry-run --output json").await.json();
    let outcomes: Vec<&Value> = lines.iter().map(|line| &line["outcome"]).collect();
    assert_eq!(
        outcomes,
        [&json!("failed"), &json!("would_send"), &json!("would_send"), &json!("would_send"), &Value::Null]
    );
    assert_eq!((&lines[4]["failed"], &lines[4]["skipped"], &lines[4]["dry_run"]), (&json!(1), &json!(3), &json!(true)));
    assert_eq!(stage.values().await, Vec::<String>::new());
}
