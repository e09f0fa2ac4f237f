//! RTPS 2.5 §8.3.4: whatever a message says can be read, and written again so that it says the same.

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{GuidPrefix, Locator, WallTime};
use dunlin_wire::{
    Data, DataFrag, DataFragSpec, DataSpec, Endianness, HeaderExtensionSpec, InfoReply, Message,
    MessageBuilder, ParameterList, Parsed, Payload, PayloadSpec, ReceiverState, Submessage,
};

use crate::parameters;

const OWN: GuidPrefix = GuidPrefix([1; 12]);

/// Walks a message, reads everything in it, and writes it again.
pub fn wire_message(data: &[u8]) {
    let Ok(message) = Message::parse(data) else { return };
    let mut state = ReceiverState::new(OWN, &message.header());
    let mut items = 0;
    for parsed in message.submessages().flatten() {
        items += 1;
        assert_eq!(data.get(parsed.offset..parsed.offset + parsed.raw.len()), Some(parsed.raw));
        state.apply(&parsed.body);
        visit(&parsed.body);
    }
    assert!(items <= data.len() / 4);
    let _ = (state.is_destination(), state.clock_offset(WallTime(0)));
    write_again(&message);
}

fn visit(body: &Submessage<'_>) {
    match body {
        Submessage::AckNack(acknack) => assert!(acknack.reader_sn_state.iter().count() <= 256),
        Submessage::Gap(gap) => assert!(gap.gap_list.iter().count() <= 256),
        Submessage::NackFrag(nack) => assert!(nack.fragment_number_state.iter().count() <= 256),
        Submessage::HeaderExtension(extension) => extension.parameters.iter().for_each(parameters::visit),
        Submessage::Data(data) => {
            data.inline_qos.iter().for_each(parameters::visit);
            if let Some(Ok(list)) = data.payload.bytes().map(ParameterList::from_payload) {
                parameters::visit(&list);
            }
        }
        Submessage::DataFrag(data) => visit_fragments(data),
        Submessage::InfoReply(reply) => assert_eq!(reply.unicast.iter().count(), reply.unicast.len()),
        Submessage::Security(security) => {
            let macs = security.footer().map(|footer| footer.receiver_macs().count());
            assert!(security.header().is_some() ^ security.content().is_some() ^ macs.is_some());
        }
        _ => {}
    }
}

/// The fragments lie inside the sample, whose size the sender chooses.
fn visit_fragments(data: &DataFrag<'_>) {
    let end = u64::from(data.offset()) + data.payload.len() as u64;
    assert!(end <= u64::from(data.sample_size) && !data.payload.is_empty());
    let last = u64::from(data.fragment_starting_num) + u64::from(data.fragments_in_submessage) - 1;
    assert!(last <= u64::from(data.total_fragments()));
    data.inline_qos.iter().for_each(parameters::visit);
}

/// Writes every submessage that was understood, each in its byte order, and reads the result.
fn write_again(message: &Message<'_>) {
    let understood: Vec<Parsed<'_>> =
        message.submessages().flatten().filter(|parsed| is_understood(&parsed.body)).collect();
    let mut outbox = Outbox::new();
    let mut builder = MessageBuilder::with_header(&mut outbox, message.header());
    let mut written = Vec::new();
    for parsed in &understood {
        builder = builder.with_endianness(Endianness::from_flags(parsed.flags));
        if write(&mut builder, &parsed.body) {
            written.push(parsed.body);
        }
    }
    builder.finish(&[Locator::LOCAL]);
    let mut bytes = Vec::new();
    outbox.datagrams().for_each(|datagram| datagram.copy_to(&mut bytes));
    if written.is_empty() {
        assert!(bytes.is_empty());
        return;
    }
    let again = Message::parse(&bytes).expect("the same header");
    assert_eq!(again.header(), message.header());
    let read: Vec<Parsed<'_>> =
        again.submessages().map(|parsed| parsed.expect("a valid submessage")).collect();
    assert_eq!(read.len(), written.len());
    read.iter().zip(&written).for_each(|(new, old)| assert_same(&new.body, old));
}

fn is_understood(body: &Submessage<'_>) -> bool {
    !matches!(body, Submessage::Unknown | Submessage::NotUnderstood(_))
}

fn write(builder: &mut MessageBuilder<'_>, body: &Submessage<'_>) -> bool {
    match body {
        Submessage::HeaderExtension(extension) => builder.header_extension(&HeaderExtensionSpec {
            message_length: extension.message_length.is_some(),
            send_timestamp: extension.send_timestamp,
            u_extension4: extension.u_extension4,
            w_extension8: extension.w_extension8,
            checksum: extension.checksum.map(|checksum| checksum.kind),
            parameters: extension.parameters.map_or(&[], |list| list.as_bytes()),
        }),
        Submessage::Pad => builder.pad(4),
        Submessage::AckNack(value) => builder.acknack(value),
        Submessage::Heartbeat(value) => builder.heartbeat(value),
        Submessage::Gap(value) => builder.gap(value),
        Submessage::InfoTs(value) => builder.info_ts(*value),
        Submessage::InfoSrc(value) => builder.info_src(value),
        Submessage::InfoDst(value) => builder.info_dst(*value),
        Submessage::InfoReply(value) => write_info_reply(builder, value),
        Submessage::InfoReplyIp4(value) => builder.info_reply_ip4(value),
        Submessage::NackFrag(value) => builder.nack_frag(value),
        Submessage::HeartbeatFrag(value) => builder.heartbeat_frag(value),
        Submessage::EchoRequest(value) => builder.echo_request(value),
        Submessage::Echo(value) => builder.echo(value),
        Submessage::Data(value) => write_data(builder, value),
        Submessage::DataFrag(value) => write_data_frag(builder, value),
        Submessage::Security(value) => builder.security(value),
        Submessage::Unknown | Submessage::NotUnderstood(_) => false,
    }
}

fn write_info_reply(builder: &mut MessageBuilder<'_>, reply: &InfoReply<'_>) -> bool {
    let unicast: Vec<Locator> = reply.unicast.iter().collect();
    let multicast: Option<Vec<Locator>> = reply.multicast.map(|list| list.iter().collect());
    builder.info_reply(&unicast, multicast.as_deref())
}

fn write_data(builder: &mut MessageBuilder<'_>, data: &Data<'_>) -> bool {
    builder.non_standard_payload(data.non_standard_payload);
    builder.data(&DataSpec {
        reader_id: data.reader_id,
        writer_id: data.writer_id,
        writer_sn: data.writer_sn,
        inline_qos: data.inline_qos.as_ref().map_or(&[], ParameterList::as_bytes),
        payload: match data.payload {
            Payload::None => PayloadSpec::None,
            Payload::Data(bytes) => PayloadSpec::Data(SharedBytes::copy_from(bytes)),
            Payload::Key(bytes) => PayloadSpec::Key(SharedBytes::copy_from(bytes)),
        },
    })
}

fn write_data_frag(builder: &mut MessageBuilder<'_>, data: &DataFrag<'_>) -> bool {
    builder.non_standard_payload(data.non_standard_payload);
    builder.data_frag(&DataFragSpec {
        reader_id: data.reader_id,
        writer_id: data.writer_id,
        writer_sn: data.writer_sn,
        fragment_starting_num: data.fragment_starting_num,
        fragments_in_submessage: data.fragments_in_submessage,
        fragment_size: data.fragment_size,
        sample_size: data.sample_size,
        inline_qos: data.inline_qos.as_ref().map_or(&[], ParameterList::as_bytes),
        key_flag: data.key_flag,
        payload: SharedBytes::copy_from(data.payload),
    })
}

/// Byte order is kept, so values compare; lengths that depend on the whole message and padding do not.
fn assert_same(new: &Submessage<'_>, old: &Submessage<'_>) {
    match (new, old) {
        (Submessage::HeaderExtension(new), Submessage::HeaderExtension(old)) => {
            assert_eq!(new.send_timestamp, old.send_timestamp);
            assert_eq!((new.u_extension4, new.w_extension8), (old.u_extension4, old.w_extension8));
            let octets =
                |list: Option<ParameterList<'_>>| list.map_or(Vec::new(), |list| list.as_bytes().to_vec());
            assert_eq!(octets(new.parameters), octets(old.parameters));
        }
        (Submessage::Data(new), Submessage::Data(old)) => {
            assert_eq!(Data { payload: Payload::None, ..*new }, Data { payload: Payload::None, ..*old });
            assert_eq!(core::mem::discriminant(&new.payload), core::mem::discriminant(&old.payload));
            assert_padded(new.payload.bytes().unwrap_or(&[]), old.payload.bytes().unwrap_or(&[]));
        }
        (Submessage::Security(new), Submessage::Security(old)) => {
            assert_eq!((new.kind, new.header(), new.content()), (old.kind, old.header(), old.content()));
            assert_eq!(new.footer(), old.footer());
            assert_padded(new.body, old.body);
        }
        (Submessage::InfoReply(new), Submessage::InfoReply(old)) => {
            assert!(new.unicast.iter().eq(old.unicast.iter()));
            assert_eq!(new.multicast.is_some(), old.multicast.is_some());
        }
        _ => assert_eq!(new, old),
    }
}

fn assert_padded(new: &[u8], old: &[u8]) {
    assert!(new.starts_with(old) && new.len() - old.len() < 4);
}
