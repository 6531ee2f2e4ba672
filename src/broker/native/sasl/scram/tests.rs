use proptest::prelude::*;

use super::*;

/// A server that knows one password, for the other half of the exchange.
struct Server {
    hash: ScramHash,
    password: &'static str,
    iterations: u32,
}

impl Server {
    /// Answers the first message; returns the answer, and what was said so far.
    fn first(&self, client_first: &str) -> (String, String) {
        let bare = client_first.strip_prefix(GS2_HEADER).unwrap();
        let nonce = bare.split_once(",r=").unwrap().1;
        let answer = format!("r={nonce}srv,s={},i={}", BASE64.encode("salty"), self.iterations);
        (answer.clone(), format!("{bare},{answer}"))
    }

    fn last(&self, so_far: &str, client_final: &str) -> Result<String, String> {
        let (without_proof, proof) = client_final.rsplit_once(",p=").unwrap();
        let text = format!("{so_far},{without_proof}");
        let salted = self.hash.salted(self.password.as_bytes(), b"salty", self.iterations);
        let stored = self.hash.digest(&self.hash.hmac(&salted, b"Client Key"));
        let signature = self.hash.hmac(&stored, text.as_bytes());
        let key: Vec<u8> =
            BASE64.decode(proof).unwrap().iter().zip(signature).map(|(proof, signature)| proof ^ signature).collect();
        if self.hash.digest(&key) != stored {
            return Err("wrong password".to_owned());
        }
        let server_key = self.hash.hmac(&salted, b"Server Key");
        Ok(format!("v={}", BASE64.encode(self.hash.hmac(&server_key, text.as_bytes()))))
    }
}

fn exchange(client: &mut Scram, server: &Server) -> Result<(), String> {
    let (answer, so_far) = server.first(&client.first());
    let last = client.next(answer.as_bytes())?.unwrap();
    let proof = server.last(&so_far, &last)?;
    assert_eq!(client.next(proof.as_bytes())?, None);
    Ok(())
}

#[test]
fn the_example_of_rfc_7677_comes_out() {
    let mut scram = Scram::new(ScramHash::Sha256, "user", "pencil", "rOprNGfwEbeRWgbNEkqO");
    assert_eq!(scram.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
    let answer = scram
        .next(b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
        .unwrap()
        .unwrap();
    assert_eq!(
        answer,
        "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    );
    assert_eq!(scram.next(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="), Ok(None));
    assert!(scram.next(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=").is_err());
}

#[test]
fn both_hashes_agree_with_a_server_on_the_right_password_only() {
    for hash in [ScramHash::Sha256, ScramHash::Sha512] {
        let server = Server { hash, password: "pässwörd=,", iterations: 4_096 };
        exchange(&mut Scram::new(hash, "o=k,d", "pässwörd=,", "abc"), &server).unwrap();
        let error = exchange(&mut Scram::new(hash, "o=k,d", "password", "abc"), &server).unwrap_err();
        assert_eq!(error, "wrong password");
    }
}

#[test]
fn names_are_escaped() {
    assert_eq!(Scram::new(ScramHash::Sha256, "o=k,d", "p", "abc").first(), "n,,n=o=3Dk=2Cd,r=abc");
}

#[test]
fn a_broker_that_does_not_know_the_password_is_found_out() {
    let mut scram = Scram::new(ScramHash::Sha256, "user", "pencil", "abc");
    scram.next(b"r=abcdef,s=c2FsdA==,i=4096").unwrap();
    let error = scram.next(format!("v={}", BASE64.encode([7; 32])).as_bytes()).unwrap_err();
    assert!(error.contains("could not prove"), "{error}");
}

#[test]
fn messages_that_must_not_be_accepted_are_refused() {
    for (message, says) in [
        ("r=xyz,s=c2FsdA==,i=4096", "nonce"),
        ("r=abc,s=c2FsdA==,i=4096", "nonce"),
        ("r=abcdef,s=c2FsdA==,i=4095", "iterations"),
        ("r=abcdef,s=c2FsdA==,i=1000001", "iterations"),
        ("r=abcdef,s=c2FsdA==,i=-1", "iterations"),
        ("r=abcdef,s=*,i=4096", "salt"),
        ("r=abcdef,i=4096", "s="),
        ("m=ext,r=abcdef,s=c2FsdA==,i=4096", "r="),
        ("", "r="),
    ] {
        let mut scram = Scram::new(ScramHash::Sha512, "user", "pencil", "abc");
        let error = scram.next(message.as_bytes()).unwrap_err();
        assert!(error.contains(says), "{message}: {error}");
    }
    let mut scram = Scram::new(ScramHash::Sha256, "user", "pencil", "abc");
    scram.next(b"r=abcdef,s=c2FsdA==,i=4096").unwrap();
    assert!(scram.next(b"e=invalid-proof").unwrap_err().contains("invalid-proof"));
}

proptest! {
    #[test]
    fn no_message_is_accepted_by_chance_or_panics(
        first in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..64),
            "r=abc[a-z]{0,3},s=[A-Za-z0-9=]{0,8},i=[0-9]{0,4}".prop_map(String::into_bytes),
        ],
        last in proptest::collection::vec(any::<u8>(), 0..64),
    ) {
        let mut scram = Scram::new(ScramHash::Sha256, "user", "pencil", "abc");
        if scram.next(&first).is_ok() {
            prop_assert!(scram.next(&last).is_err());
        }
    }
}
