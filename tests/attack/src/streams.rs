//! Connections of TCP that do not do what they should.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::field::Field;
use crate::places::Side;

/// Connections that a side with the usual settings keeps at most.
const MANY: usize = 700;

/// Octets of the headers of IP and TCP, and of the segments that open and close a connection on the side that does so: SYN, ACK,
/// FIN and ACK.
const HEADERS: usize = 52;
const CONNECTION: usize = 60 + 3 * HEADERS;

fn connect(field: &Field, side: Side) -> Result<TcpStream> {
    field.count(CONNECTION);
    let stream = TcpStream::connect_timeout(&field.places.tcp(side), Duration::from_secs(1));
    let stream = stream.context("nobody listens on the port of TCP")?;
    stream.set_write_timeout(Some(Duration::from_millis(100)))?;
    stream.set_read_timeout(Some(Duration::from_millis(1)))?;
    Ok(stream)
}

fn send(field: &Field, stream: &mut TcpStream, octets: &[u8]) -> bool {
    let sent = stream.write_all(octets).is_ok();
    field.count(HEADERS + octets.len());
    sent
}

/// Frames of RTPS over TCP begin so: "RTCP", length, checksum, logical port.
fn frame(len: u32, port: u16) -> Vec<u8> {
    let mut octets = b"RTCP".to_vec();
    octets.extend(len.to_le_bytes());
    octets.extend([0; 4]);
    octets.extend(port.to_le_bytes());
    octets
}

/// Connections that never say anything.
pub(crate) fn silent(field: &mut Field) -> Result<()> {
    let mut kept = vec![];
    while kept.len() < MANY && !field.is_over() {
        kept.push(connect(field, [Side::Reader, Side::Writer][kept.len() % 2])?);
    }
    field.rest(field.left());
    Ok(())
}

/// Connections that say an octet now and then.
pub(crate) fn slow(field: &mut Field) -> Result<()> {
    let mut kept = vec![];
    for n in 0..100 {
        kept.push(connect(field, [Side::Reader, Side::Writer][n % 2])?);
    }
    let octets = frame(60_000, 7_410);
    field.again(Duration::from_millis(20), |field, round| {
        let octet = octets.get(round as usize..=round as usize).unwrap_or(&[7]);
        kept.retain_mut(|stream| send(field, stream, octet));
        Ok(())
    })
}

/// Frames that claim to be 4 GB long.
pub(crate) fn oversized_frames(field: &mut Field) -> Result<()> {
    field.again(Duration::from_millis(2), |field, round| {
        let mut stream = connect(field, [Side::Reader, Side::Writer][round as usize % 2])?;
        send(field, &mut stream, &frame(u32::MAX, 7_410));
        send(field, &mut stream, &[7; 4_096]);
        Ok(())
    })
}

/// A thousand connections each second, closed at once.
pub(crate) fn connections(field: &mut Field) -> Result<()> {
    field.again(Duration::from_millis(1), |field, round| {
        // A full backlog is what this may lead to.
        _ = connect(field, [Side::Reader, Side::Writer][round as usize % 2]);
        Ok(())
    })
}

/// Octets drawn by lot instead of frames.
pub(crate) fn noise(field: &mut Field) -> Result<()> {
    let mut state = 7_u32;
    field.again(Duration::from_millis(2), |field, round| {
        let mut stream = connect(field, [Side::Reader, Side::Writer][round as usize % 2])?;
        let octets: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .take(2_000)
        .collect();
        if round % 2 == 0 {
            send(field, &mut stream, &frame(1_900, 7_410));
        }
        send(field, &mut stream, &octets);
        Ok(())
    })
}

/// Connections that send and never read what they are sent.
pub(crate) fn never_reads(field: &mut Field) -> Result<()> {
    let mut kept = vec![];
    for n in 0..32 {
        kept.push(connect(field, [Side::Reader, Side::Writer][n % 2])?);
    }
    let mut message = crate::forge::heartbeat(field.writer.guid, 1, 5, 9_000);
    let mut octets = frame(14 + message.len() as u32, 7_410);
    octets.append(&mut message);
    field.again(Duration::from_millis(1), |field, _| {
        kept.retain_mut(|stream| send(field, stream, &octets));
        Ok(())
    })
}

/// Each connection is shut down for writing at once and read until it ends.
pub(crate) fn half_closed(field: &mut Field) -> Result<()> {
    let mut kept = vec![];
    field.again(Duration::from_millis(2), |field, round| {
        let mut stream = connect(field, [Side::Reader, Side::Writer][round as usize % 2])?;
        send(field, &mut stream, &frame(100, 7_410)[..9]);
        stream.shutdown(std::net::Shutdown::Write)?;
        _ = stream.read(&mut [0; 64]);
        kept.push(stream);
        Ok(())
    })
}
