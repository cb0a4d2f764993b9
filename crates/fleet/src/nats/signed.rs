//! Messages of operators, signed with Ed25519: the text as it was signed, and the public key.

use super::access::{Access, Key};
use crate::words::{Version, decode, encode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nkeys::KeyPair;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
struct Signed {
    version: Version,
    /// The message.
    text: String,
    /// Public key of the operator; without one the message is not signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
}

/// Writes a message that anyone may send.
pub(super) fn open<T: Serialize>(message: &T) -> Result<String, String> {
    let text = encode(message).map_err(|error| error.to_string())?;
    encode(&Signed { version: Version, text, by: None, signature: None }).map_err(|error| error.to_string())
}

/// Signs a message.
pub(super) fn sign<T: Serialize>(key: &Key, message: &T) -> Result<String, String> {
    let text = encode(message).map_err(|error| error.to_string())?;
    let pair = key.pair()?;
    let signature = pair.sign(text.as_bytes()).map_err(|error| error.to_string())?;
    let (by, signature) = (Some(pair.public_key()), Some(STANDARD.encode(signature)));
    encode(&Signed { version: Version, text, by, signature }).map_err(|error| error.to_string())
}

/// Reads a message, and whether an operator has signed it.
pub(super) fn read<T: DeserializeOwned>(access: &Access, text: &str) -> Result<(T, bool), String> {
    let Signed { text, by, signature, .. } = decode(text).map_err(|error| error.to_string())?;
    let is_signed = match (by, signature) {
        (Some(by), Some(signature)) => access.operators.contains(&by) && is_valid(&by, &signature, &text),
        _ => false,
    };
    Ok((decode(&text).map_err(|error| error.to_string())?, is_signed))
}

fn is_valid(by: &str, signature: &str, text: &str) -> bool {
    let verified = || {
        let signature = STANDARD.decode(signature).ok()?;
        KeyPair::from_public_key(by).ok()?.verify(text.as_bytes(), &signature).ok()
    };
    verified().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::{Envelope, Order};

    fn envelope() -> Envelope {
        let order = Order::Close { at_ns: 7 };
        Envelope { version: Version, run: "r".to_owned(), epoch: 1, seq: 2, sent_ns: 3, deadline_ns: 4, order }
    }

    #[test]
    fn only_what_an_operator_has_signed_is_signed() {
        let [operator, other] = [Key::new().unwrap(), Key::new().unwrap()];
        let operators = vec![operator.public().unwrap()];
        let access = Access { url: String::new(), key: other.clone(), operators, agent: None, certificate: None };
        let is_signed = |text: &str| {
            read::<Envelope>(&access, text).map(|(read, is_signed)| {
                assert_eq!(read.seq, 2);
                is_signed
            })
        };
        let signed = sign(&operator, &envelope()).unwrap();
        assert_eq!(is_signed(&signed), Ok(true));
        assert_eq!(is_signed(&sign(&other, &envelope()).unwrap()), Ok(false));
        assert_eq!(is_signed(&open(&envelope()).unwrap()), Ok(false));
        // A time is changed; the key is of an operator, but not the signature.
        assert_eq!(is_signed(&signed.replace(r#"at_ns\":7"#, r#"at_ns\":8"#)), Ok(false));
        let forged = sign(&other, &envelope()).unwrap().replace(&other.public().unwrap(), &operator.public().unwrap());
        assert_eq!(is_signed(&forged), Ok(false));
        assert!(is_signed("{}").is_err() && is_signed(r#"{"version":"brunt.1","text":"x"}"#).is_err());
    }
}
