//! The example does what it says.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::OnceLock;

use tokio::process::Command;

use crate::ledgers;
use crate::shop::soon;

/// The example's executable. `cargo test` builds examples; where only this test was asked for it is built here.
fn executable() -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    let test = std::env::current_exe().unwrap();
    // target/<profile>/deps/<this test>
    let profile = test.parent().and_then(Path::parent).unwrap();
    let path = profile.join("examples").join("deduplication").with_extension(std::env::consts::EXE_EXTENSION);
    BUILT.get_or_init(|| {
        if !path.exists() {
            let mut build = std::process::Command::new(env!("CARGO"));
            build.args(["build", "--example", "deduplication", "--target-dir"]).arg(profile.parent().unwrap());
            if profile.ends_with("release") {
                build.arg("--release");
            }
            assert!(build.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap().success());
        }
    });
    path
}

/// Runs it to its end, on an embedded broker of its own.
async fn run(url: Option<&str>) -> Output {
    let mut command = Command::new(executable());
    command.env_remove("KAFKA_BOOTSTRAP").env_remove("DATABASE_URL").kill_on_drop(true);
    if let Some(url) = url {
        command.env("DATABASE_URL", url);
    }
    soon("the example ends by itself", command.output()).await.unwrap()
}

async fn complaint(url: Option<&str>) -> String {
    let output = run(url).await;
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "standard output is for the story");
    String::from_utf8(output.stderr).unwrap()
}

#[tokio::test]
async fn it_tells_how_each_order_is_paid_for_once_and_leaves_nothing_behind() {
    let Some(url) = ledgers::server() else { return };
    let output = run(Some(&url)).await;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{errors}", output.status);
    assert_eq!(errors, "");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), include_str!("../../examples/deduplication/expected.txt"));

    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let left = "SELECT 1 FROM information_schema.schemata WHERE schema_name LIKE 'bezoar_deduplication_%'";
    assert_eq!(client.execute(left, &[]).await.unwrap(), 0);
}

#[tokio::test]
async fn without_a_database_it_says_how_to_get_one() {
    let complaint = complaint(None).await;
    assert!(complaint.starts_with("deduplication: DATABASE_URL is not set"), "{complaint}");
    assert!(complaint.contains("scripts/postgres start"), "{complaint}");
}

#[tokio::test]
async fn a_database_that_cannot_be_used_is_an_error_that_says_why() {
    for (url, expected) in [
        ("mysql:3306", "DATABASE_URL cannot be used: "),
        ("postgres://nobody@127.0.0.1:1/nothing", "cannot make tables in the database of DATABASE_URL: "),
    ] {
        let complaint = complaint(Some(url)).await;
        assert!(complaint.starts_with(&format!("deduplication: {expected}")), "{complaint}");
    }
}
