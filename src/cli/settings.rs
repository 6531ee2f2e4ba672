//! Errors of settings in the words of the command line.

use crate::policy::ConfigError;

/// Settings and the flags that set them; those of a file too are named in both ways, since either may be meant.
const FLAGS: [(&str, &str); 20] = [
    ("monitor.critical", "--critical"),
    ("monitor.interval", "--interval"),
    ("monitor.repeat", "--repeat"),
    ("monitor.tags", "--tag"),
    ("monitor.warning", "--warning"),
    ("monitor.window", "--window"),
    ("webhook.routing_key_env", "BEZOAR_ROUTING_KEY"),
    ("webhook.routing_key_file", "--routing-key-file"),
    ("webhook.template", "--template-file"),
    ("webhook.url", "--webhook"),
    ("security.sasl.password", "--sasl-password-file"),
    ("security.sasl.password_env", "--sasl-password-env"),
    ("security.sasl.password_file", "--sasl-password-file"),
    ("security.sasl.token_file", "--sasl-token-file"),
    ("security.sasl.username", "--sasl-username"),
    ("security.tls", "--tls"),
    ("security.tls.ca_file", "--tls-ca-file"),
    ("security.tls.client_certificate_file", "--tls-certificate-file"),
    ("security.tls.client_key_file", "--tls-key-file"),
    ("security.tls.server_name", "--tls-server-name"),
];

/// What is wrong and what would be right, by flags.
pub(super) fn explain(error: &ConfigError) -> String {
    let ConfigError { setting, value, problem, remedy, .. } = error;
    let flag = FLAGS.iter().find(|(name, _)| name == setting).map_or(setting.as_str(), |(_, flag)| *flag);
    let mut problem = problem.clone();
    for (name, flag) in FLAGS.iter().filter(|(name, _)| name.starts_with("monitor.")) {
        problem = problem.replace(name, flag);
    }
    let remedy = match (setting.as_str(), problem.as_str()) {
        ("security.sasl.password", "is missing") => "name a file, or set BEZOAR_SASL_PASSWORD",
        ("security.sasl.token_file", "is missing") => "name the file that holds the token",
        ("security.sasl.token_file", _) if remedy.contains("OAUTHBEARER") => {
            "use --sasl-mechanism OAUTHBEARER, or leave it out"
        }
        ("security.tls.client_certificate_file", "is given without its key") => "use --tls-key-file too",
        ("security.tls.client_key_file", "is given without its certificate") => "use --tls-certificate-file too",
        ("monitor.warning", _) if remedy.contains("enabled") => "set it to 1 or more",
        _ => remedy.as_str(),
    };
    let in_file = match setting.starts_with("security.") {
        true => format!(" ({setting} in a settings file)"),
        false => String::new(),
    };
    match problem.as_str() {
        // There is no value to be shown.
        "is missing" => format!("{flag}{in_file} is missing: {remedy}"),
        _ => format!("{flag} = {value}{in_file} {problem}: {remedy}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_stand_for_settings() {
        let error = ConfigError::new("monitor.critical", 2, "is not above monitor.warning (5)", "set it above that");
        assert_eq!(explain(&error), "--critical = 2 is not above --warning (5): set it above that");
        let error = ConfigError::new("security.sasl.password", "", "is missing", "set one of password, password_file");
        assert_eq!(
            explain(&error),
            "--sasl-password-file (security.sasl.password in a settings file) is missing: name a file, or set BEZOAR_SASL_PASSWORD"
        );
        let error = ConfigError::new("bootstrap", "", "is empty", "name a broker");
        assert_eq!(explain(&error), error.to_string());
    }
}
