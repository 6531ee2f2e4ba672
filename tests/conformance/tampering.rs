//! Connections on which answers are changed before they arrive.

use std::io;
use std::sync::Arc;

use bezoar::broker::native::{self, Connector, Stream};
use bezoar::broker::{BoxFuture, Ports};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::fixture::{Fixture, settings};

type Change = Arc<dyn Fn(&mut [u8]) + Send + Sync>;

struct Tampering(Change);

/// The native adapter, over connections on which `change` is done to each answer, whose length is not part of it.
pub(crate) async fn native(fixture: &Fixture, change: impl Fn(&mut [u8]) + Send + Sync + 'static) -> Ports {
    let connector = Arc::new(Tampering(Arc::new(change)));
    native::connect_with(settings(&fixture.address), connector).await.unwrap().ports()
}

impl Connector for Tampering {
    fn open(&self, address: String) -> BoxFuture<io::Result<Box<dyn Stream>>> {
        let change = Arc::clone(&self.0);
        Box::pin(async move {
            let broker = TcpStream::connect(address).await?;
            let (near, far) = tokio::io::duplex(1 << 20);
            tokio::spawn(carry(far, broker, change));
            Ok(Box::new(near) as Box<dyn Stream>)
        })
    }
}

async fn carry(client: impl Stream, broker: TcpStream, change: Change) {
    let (mut from_client, to_client) = tokio::io::split(client);
    let (from_broker, mut to_broker) = broker.into_split();
    tokio::select! {
        _ = tokio::io::copy(&mut from_client, &mut to_broker) => {}
        _ = answers(from_broker, to_client, &change) => {}
    }
}

async fn answers(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, change: &Change) -> io::Result<()> {
    loop {
        let length = from.read_u32().await?;
        let mut answer = vec![0; length as usize];
        from.read_exact(&mut answer).await?;
        change(&mut answer);
        to.write_u32(length).await?;
        to.write_all(&answer).await?;
    }
}
