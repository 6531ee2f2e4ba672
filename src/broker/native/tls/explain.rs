use tokio_rustls::rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

/// What somebody must change for TLS not to fail like this.
pub(super) fn explain(error: &Error, has_certificate: bool) -> String {
    match error {
        Error::InvalidCertificate(error) => certificate(error),
        Error::AlertReceived(alert) => alerted(*alert, has_certificate),
        Error::InvalidMessage(InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion) => {
            format!("the answer is not TLS: does this port expect plaintext? ({error})")
        }
        error => error.to_string(),
    }
}

fn certificate(error: &CertificateError) -> String {
    match error {
        CertificateError::UnknownIssuer => {
            "the broker's certificate is signed by nobody who is trusted here: set security.tls.ca_file to the certificate of the authority that signed it"
                .to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            format!("the broker's certificate has expired; renew it, or check this machine's clock ({error})")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            format!("the broker's certificate is not valid yet; check this machine's clock ({error})")
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => format!(
            "the broker's certificate is for another name: use one of its names in the address (bootstrap, and the broker's advertised.listeners), or set security.tls.server_name ({error})"
        ),
        CertificateError::Revoked => "the broker's certificate is revoked".to_owned(),
        error => format!("the broker's certificate cannot be accepted ({error})"),
    }
}

fn alerted(alert: AlertDescription, has_certificate: bool) -> String {
    let about_certificate = matches!(
        alert,
        AlertDescription::BadCertificate
            | AlertDescription::CertificateRequired
            | AlertDescription::CertificateUnknown
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateRevoked
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied
    );
    match alert {
        _ if about_certificate && has_certificate => {
            format!("the broker refuses the client certificate: is it signed by one it trusts, and valid? ({alert:?})")
        }
        _ if about_certificate => format!(
            "the broker requires a client certificate, and none is set: set security.tls.client_certificate_file and client_key_file ({alert:?})"
        ),
        AlertDescription::DecryptError | AlertDescription::IllegalParameter if has_certificate => format!(
            "the broker cannot verify this client's signature: is security.tls.client_key_file the key of the client certificate? ({alert:?})"
        ),
        AlertDescription::ProtocolVersion | AlertDescription::HandshakeFailure => format!(
            "the broker has no version or cipher suite of TLS in common with this client, or requires a client certificate ({alert:?})"
        ),
        AlertDescription::UnrecognisedName => {
            format!("the broker does not know the host name that it was asked for by ({alert:?})")
        }
        alert => format!("the broker ended the TLS connection ({alert:?})"),
    }
}
