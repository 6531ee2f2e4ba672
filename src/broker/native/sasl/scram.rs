//! SCRAM (RFC 5802, RFC 7677), the client's side without I/O: each message of the broker gives the next of ours.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256, Sha512};

use crate::broker::security::ScramHash;

/// Fewer would make a recorded exchange cheap to guess passwords from; the RFC and Kafka allow no fewer either.
const MIN_ITERATIONS: u32 = 4_096;
/// More would let whoever answers keep this machine busy for seconds. Kafka allows 16,384.
const MAX_ITERATIONS: u32 = 1_000_000;
/// No channel binding, no other identity.
const GS2_HEADER: &str = "n,,";

/// An exchange. Its `Debug` would show secrets, so it has none.
pub(super) struct Scram {
    hash: ScramHash,
    password: String,
    nonce: String,
    first_bare: String,
    state: State,
}

enum State {
    /// The broker's salt and iterations are awaited.
    First,
    /// The broker's proof is awaited: the signature of this text by this key.
    Final {
        server_key: Vec<u8>,
        auth_message: String,
    },
    Done,
}

impl Scram {
    /// `nonce` is of printable ASCII without commas, and never used before.
    pub(super) fn new(hash: ScramHash, username: &str, password: &str, nonce: &str) -> Self {
        // `=` first, or the escape of the comma would be escaped itself.
        let name = username.replace('=', "=3D").replace(',', "=2C");
        Self {
            hash,
            password: password.to_owned(),
            nonce: nonce.to_owned(),
            first_bare: format!("n={name},r={nonce}"),
            state: State::First,
        }
    }

    /// The first message.
    pub(super) fn first(&self) -> String {
        format!("{GS2_HEADER}{}", self.first_bare)
    }

    /// The answer to a message of the broker; `None` after its last one, which proves that it knows the password.
    pub(super) fn next(&mut self, message: &[u8]) -> Result<Option<String>, String> {
        let message = std::str::from_utf8(message).map_err(|_| "the broker's message is not text".to_owned())?;
        match std::mem::replace(&mut self.state, State::Done) {
            State::First => self.answer(message).map(Some),
            State::Final { server_key, auth_message } => {
                self.verify(message, &server_key, &auth_message).map(|()| None)
            }
            State::Done => Err("the broker goes on after its last message".to_owned()),
        }
    }

    fn answer(&mut self, server_first: &str) -> Result<String, String> {
        let mut attributes = server_first.split(',');
        let mut attribute = |name| value(attributes.next(), name);
        let nonce = attribute("r=")?;
        // Else it is the answer to another exchange, or a recorded one.
        if nonce.len() <= self.nonce.len() || !nonce.starts_with(&self.nonce) {
            return Err("the broker's nonce does not continue ours".to_owned());
        }
        let salt = BASE64.decode(attribute("s=")?).map_err(|error| format!("the salt is not base64: {error}"))?;
        let iterations: u32 =
            attribute("i=")?.parse().map_err(|_| "the number of iterations is no number".to_owned())?;
        if !(MIN_ITERATIONS..=MAX_ITERATIONS).contains(&iterations) {
            return Err(format!(
                "the broker asks for {iterations} iterations, where {MIN_ITERATIONS} to {MAX_ITERATIONS} are accepted"
            ));
        }
        let without_proof = format!("c={},r={nonce}", BASE64.encode(GS2_HEADER));
        let auth_message = format!("{},{server_first},{without_proof}", self.first_bare);

        let hash = self.hash;
        let salted = hash.salted(self.password.as_bytes(), &salt, iterations);
        let client_key = hash.hmac(&salted, b"Client Key");
        let signature = hash.hmac(&hash.digest(&client_key), auth_message.as_bytes());
        let proof: Vec<u8> = client_key.iter().zip(&signature).map(|(key, signature)| key ^ signature).collect();
        let server_key = hash.hmac(&salted, b"Server Key");
        self.state = State::Final { server_key, auth_message };
        Ok(format!("{without_proof},p={}", BASE64.encode(proof)))
    }

    fn verify(&self, server_final: &str, server_key: &[u8], auth_message: &str) -> Result<(), String> {
        let first = server_final.split(',').next();
        if let Ok(error) = value(first, "e=") {
            return Err(format!("the broker refuses: {error}"));
        }
        let signature =
            BASE64.decode(value(first, "v=")?).map_err(|error| format!("the signature is not base64: {error}"))?;
        if self.hash.verify(server_key, auth_message.as_bytes(), &signature) {
            Ok(())
        } else {
            Err("the broker could not prove that it knows the password; it may not be who it claims to be".to_owned())
        }
    }
}

fn value<'a>(attribute: Option<&'a str>, name: &str) -> Result<&'a str, String> {
    attribute.and_then(|text| text.strip_prefix(name)).ok_or_else(|| format!("the broker's message lacks {name}…"))
}

macro_rules! by_hash {
    ($hash:expr, $type:ident => $result:expr) => {
        match $hash {
            ScramHash::Sha256 => {
                type $type = Sha256;
                $result
            }
            ScramHash::Sha512 => {
                type $type = Sha512;
                $result
            }
        }
    };
}

impl ScramHash {
    fn digest(self, text: &[u8]) -> Vec<u8> {
        by_hash!(self, H => H::digest(text).to_vec())
    }

    fn hmac(self, key: &[u8], text: &[u8]) -> Vec<u8> {
        by_hash!(self, H => keyed::<Hmac<H>>(key, text).finalize().into_bytes().to_vec())
    }

    /// Whether `code` is the one of `text`, in a time that does not depend on where they differ.
    fn verify(self, key: &[u8], text: &[u8], code: &[u8]) -> bool {
        by_hash!(self, H => keyed::<Hmac<H>>(key, text).verify_slice(code).is_ok())
    }

    fn salted(self, password: &[u8], salt: &[u8], iterations: u32) -> Vec<u8> {
        by_hash!(self, H => {
            let mut salted = H::digest([]);
            pbkdf2::pbkdf2_hmac::<H>(password, salt, iterations, &mut salted);
            salted.to_vec()
        })
    }
}

fn keyed<M: Mac + KeyInit>(key: &[u8], text: &[u8]) -> M {
    let Ok(mut mac) = <M as KeyInit>::new_from_slice(key) else { unreachable!("HMAC takes keys of any length") };
    mac.update(text);
    mac
}

#[cfg(test)]
mod tests;
