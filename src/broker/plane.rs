use serde::Deserialize;

use super::{BrokerError, ConnectionSettings, Ports, native};

/// Which client reads and produces. Topics, offsets and groups go over our own connections with either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Plane {
    /// [`native`]: our own.
    #[default]
    Native,
    /// The rskafka client, in builds with the feature `rskafka`. What it cannot do is listed in `docs/limits.md`.
    Rskafka,
}

impl Plane {
    /// Connects, and gives one of each port.
    ///
    /// # Errors
    /// As for [`native::connect`]; [`BrokerError::Unsupported`] for [`Plane::Rskafka`] in a build without that feature, or with
    /// [`security`](super::security) set.
    pub async fn connect(self, settings: ConnectionSettings) -> Result<Ports, BrokerError> {
        match self {
            Plane::Native => Ok(native::connect(settings).await?.ports()),
            #[cfg(feature = "rskafka")]
            Plane::Rskafka => super::rskafka::connect(settings).await,
            #[cfg(not(feature = "rskafka"))]
            Plane::Rskafka => Err(BrokerError::Unsupported {
                doing: "connecting through rskafka".to_owned(),
                remedy: "this build is without it: switch the feature `rskafka` on, or use Plane::Native".to_owned(),
            }),
        }
    }
}
