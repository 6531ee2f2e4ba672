//! Promise 6: no crate in the graph compiles C or links a C library. `scripts/no-c` proves it by building; this looks at
//! the graph alone, so that it is quick enough to run with every test.

use std::process::Command;

/// Crates that look like bindings and are none; `scripts/no-c` says why.
const PURE: [&str; 3] = ["linux-raw-sys", "prettyplease", "windows-sys"];

#[test]
fn no_crate_of_the_graph_compiles_or_binds_c() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--offline", "--locked", "-e", "normal,build", "--all-features", "--prefix", "none"])
        .args(["--format", "{p}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).unwrap();
    let crates: Vec<&str> = tree.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(crates.contains(&"tokio") && crates.contains(&"rskafka"), "{tree}");
    let tools = ["cc", "cmake", "bindgen", "pkg-config", "system-deps", "vcpkg", "nasm-rs", "cxx-build", "autotools"];
    for name in crates {
        let suspicious = tools.contains(&name) || name.ends_with("-sys");
        assert!(!suspicious || PURE.contains(&name), "{name} is in the graph: see cargo tree -i {name}");
    }
}

/// Builds everything anew, which takes minutes: only where `BEZOAR_NO_C_TEST` asks for it.
#[test]
fn the_package_builds_without_a_c_compiler() {
    if std::env::var_os("BEZOAR_NO_C_TEST").is_none() {
        return;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/no-c");
    assert!(Command::new(script).status().unwrap().success());
}
