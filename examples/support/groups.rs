//! Asks a cluster whether it has a consumer group, with Kafka's own messages: consumers need no such call.

use std::error::Error;

use kafka_protocol::messages::{FindCoordinatorRequest, GroupId, ListGroupsRequest, RequestHeader, ResponseHeader};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Whether `group` exists, whatever it has committed.
pub(crate) async fn exists(bootstrap: &str, group: &str) -> Result<bool, Box<dyn Error>> {
    let group = StrBytes::from_string(group.to_owned());
    let coordinator = FindCoordinatorRequest::default().with_key(group.clone());
    let coordinator = call(bootstrap, 1, coordinator).await?;
    refuse("finding the group's coordinator", coordinator.error_code)?;
    let address = format!("{}:{}", coordinator.host, coordinator.port);
    let listed = call(&address, 0, ListGroupsRequest::default()).await?;
    refuse("listing groups", listed.error_code)?;
    Ok(listed.groups.iter().any(|listed| listed.group_id == GroupId(group.clone())))
}

fn refuse(doing: &str, code: i16) -> Result<(), Box<dyn Error>> {
    if code == 0 { Ok(()) } else { Err(format!("{doing}: the broker answered with error code {code}").into()) }
}

/// One request on a connection of its own.
async fn call<R: Request>(address: &str, version: i16, request: R) -> Result<R::Response, Box<dyn Error>> {
    let header = RequestHeader::default().with_request_api_key(R::KEY).with_request_api_version(version);
    let mut frame = bytes::BytesMut::new();
    header.encode(&mut frame, R::header_version(version))?;
    request.encode(&mut frame, version)?;

    let mut connection = TcpStream::connect(address).await?;
    connection.write_i32(i32::try_from(frame.len())?).await?;
    connection.write_all(&frame).await?;
    let mut answer = vec![0; usize::try_from(connection.read_i32().await?)?];
    connection.read_exact(&mut answer).await?;
    let mut answer = bytes::Bytes::from(answer);
    ResponseHeader::decode(&mut answer, R::Response::header_version(version))?;
    Ok(R::Response::decode(&mut answer, version)?)
}
