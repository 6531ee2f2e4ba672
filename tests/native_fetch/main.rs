//! Our own reader against the embedded broker, with somebody on the line who sees and changes what goes over it.

mod changes;
mod credit;
mod damage;
mod failures;
mod life;
mod reader;
mod requests;
mod spy;
