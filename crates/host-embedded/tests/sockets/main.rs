//! Clients on WebSockets, through an open port.

mod connect;
mod fixture;
mod hibernation;
mod limits;
mod raw;
mod room;
