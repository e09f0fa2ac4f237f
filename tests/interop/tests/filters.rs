//! A content-filtered reader of ours with the writers of other vendors: whether they filter for it or not, it gets what
//! satisfies its filter, and announcing the filter keeps nobody from matching. And a filtered reader of Fast DDS with our
//! writer, which filters for it where both decide alike.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use dunlin::qos::{DataReaderQos, SubscriberQos, TopicQos};
use dunlin::{DataReader, InstanceState};
use dunlin_interop::{Peer, ShapeType, Vendor, eventually, participant, writer};

fn capture(name: &str) -> PathBuf {
    let folder = std::env::var_os("INTEROP_CAPTURES").map_or_else(std::env::temp_dir, PathBuf::from);
    folder.join(format!("{name}.pcap"))
}

/// Positions of the samples, up to one, and the colors of the instances that were disposed.
fn take_through(reader: &DataReader<ShapeType>, last: i32) -> Result<(Vec<i32>, Vec<String>)> {
    let (mut seen, mut disposed) = (Vec::new(), Vec::new());
    eventually("the last sample", || {
        for sample in reader.take(64)? {
            if sample.info.instance_state == InstanceState::NotAliveDisposed {
                disposed
                    .extend(sample.data.as_ref().or(sample.key.as_ref()).map(|shape| shape.color.clone()));
            }
            seen.extend(sample.data.map(|shape| shape.x));
        }
        Ok(seen.contains(&last).then_some(()))
    })?;
    Ok((seen, disposed))
}

fn peer_writes(vendor: Vendor, domain: u32) -> Result<()> {
    let participant = participant(domain, &capture(&format!("{vendor:?}-writes-filtered")))?;
    let topic = participant.create_topic::<ShapeType>("Square", &TopicQos::default())?;
    let expression = "x BETWEEN %0 AND %1 AND color LIKE 'B%' OR shapesize = 99";
    let topic = participant.create_contentfilteredtopic("Some", &topic, expression, &["10", "19"])?;
    let qos = DataReaderQos::default().reliable().transient_local().keep_all();
    let reader = participant.create_subscriber(&SubscriberQos::default())?.create_datareader(&topic, &qos)?;
    let mut peer = Peer::start(vendor, "shape-pub", domain)?;
    peer.tell("wait-matched 1")?;
    for x in 0..40 {
        peer.tell(&format!("write BLUE {x} 2 30"))?;
        peer.tell(&format!("write RED {x} 2 30"))?;
    }
    // Only the first of these is known to the reader.
    peer.tell("dispose BLUE")?;
    peer.tell("dispose RED")?;
    peer.tell("write GREEN 1000 0 99")?;
    let (seen, disposed) = take_through(&reader, 1000)?;
    ensure!(seen == (10..20).chain([1000]).collect::<Vec<_>>(), "{vendor:?}: {seen:?}");
    ensure!(disposed.iter().all(|color| color == "BLUE") && !disposed.is_empty(), "{vendor:?}: {disposed:?}");
    ensure!(reader.sample_lost_status().total == 0, "{vendor:?}: what is filtered is not lost");
    // A writer may go on with the old parameters for a moment, so it is told until it has heard.
    topic.set_expression_parameters(&["500", "600"])?;
    let mut x = 500;
    eventually("a sample that satisfies the new parameters", || {
        x = if x < 600 { x + 1 } else { 500 };
        peer.tell(&format!("write BLUE {x} 2 30"))?;
        Ok(reader.take(64)?.iter().any(|sample| sample.data.is_some()).then_some(()))
    })?;
    peer.quit()
}

#[test]
#[ignore = "needs the peers: make interop"]
fn cyclone_writes_for_a_filter() -> Result<()> {
    peer_writes(Vendor::Cyclone, 131)
}

#[test]
#[ignore = "needs the peers: make interop"]
fn fast_dds_writes_for_a_filter() -> Result<()> {
    peer_writes(Vendor::FastDds, 132)
}

#[test]
#[ignore = "needs the peers: make interop"]
fn rust_dds_writes_for_a_filter() -> Result<()> {
    peer_writes(Vendor::RustDds, 133)
}

#[test]
#[ignore = "needs the peers: make interop"]
fn dust_dds_writes_for_a_filter() -> Result<()> {
    peer_writes(Vendor::DustDds, 134)
}

#[test]
#[ignore = "needs Fast DDS 3: make interop-fastdds3"]
fn fast_dds3_writes_for_a_filter() -> Result<()> {
    peer_writes(Vendor::FastDds3, 135)
}

#[test]
#[ignore = "needs Fast DDS 3: make interop-fastdds3"]
fn fast_dds3_xcdr2_writes_for_a_filter() -> Result<()> {
    peer_writes(Vendor::FastDds3Xcdr2, 136)
}

/// Writes forty BLUE and a GREEN sample for a reader with a filter; how many samples the writer did not send, and the lines of
/// the peer up to the sample GREEN.
fn we_write(vendor: Vendor, domain: u32, filter: &str) -> Result<(u64, Vec<String>)> {
    let participant = participant(domain, &capture(&format!("dunlin-writes-filtered-{domain}")))?;
    let writer = writer::<ShapeType>(&participant, "Square", vendor)?;
    let mut peer = Peer::start_with(vendor, "shape-sub", domain, &[("PEER_FILTER", filter)])?;
    eventually("the reader", || Ok((!writer.matched_subscriptions().is_empty()).then_some(())))?;
    for x in 0..40 {
        writer.write(&ShapeType { color: "BLUE".into(), x, y: 2, shapesize: 30 })?;
    }
    writer.write(&ShapeType { color: "GREEN".into(), x: 1000, y: 0, shapesize: 99 })?;
    let mut lines = Vec::new();
    while lines.last().is_none_or(|line: &String| !line.starts_with("sample GREEN")) {
        lines.push(peer.wait_for_prefix("sample ")?);
    }
    writer.wait_for_acknowledgments(dunlin::Duration::from_secs(20))?;
    peer.quit()?;
    Ok((writer.stats().samples_filtered, lines))
}

fn passing() -> Vec<String> {
    (10..20).map(|x| format!("sample BLUE {x} 2 30")).chain(["sample GREEN 1000 0 99".into()]).collect()
}

fn we_filter_for(vendor: Vendor, domain: u32) -> Result<()> {
    let (filtered, lines) = we_write(vendor, domain, "x BETWEEN %0 AND %1 OR color = 'GREEN'|10|19")?;
    ensure!(lines == passing(), "{lines:?}");
    ensure!(filtered == 30, "{filtered} samples were not sent");
    Ok(())
}

fn filters_itself_where_vendors_decide_differently(vendor: Vendor, domain: u32) -> Result<()> {
    let (filtered, lines) = we_write(vendor, domain, "x BETWEEN 10 AND 19 OR color LIKE 'GR%'")?;
    ensure!(lines == passing(), "{lines:?}");
    ensure!(filtered == 0, "{filtered} samples were not sent");
    Ok(())
}

#[test]
#[ignore = "needs the peers: make interop"]
fn writer_side_filter_serves_fast_dds() -> Result<()> {
    we_filter_for(Vendor::FastDds, 137)
}

#[test]
#[ignore = "needs the peers: make interop"]
fn fast_dds_filters_itself_where_vendors_decide_differently() -> Result<()> {
    filters_itself_where_vendors_decide_differently(Vendor::FastDds, 138)
}

#[test]
#[ignore = "needs Fast DDS 3: make interop-fastdds3"]
fn writer_side_filter_serves_fast_dds3() -> Result<()> {
    we_filter_for(Vendor::FastDds3Generated("shapes"), 139)
}

#[test]
#[ignore = "needs Fast DDS 3: make interop-fastdds3"]
fn fast_dds3_filters_itself_where_vendors_decide_differently() -> Result<()> {
    filters_itself_where_vendors_decide_differently(Vendor::FastDds3Generated("shapes"), 140)
}
