//! RTPS 2.5 §9.4.2.11: whatever a parameter list says can be read, and written again so that it says the same.

use dunlin_wire::{Endianness, ParamReader, Parameter, ParameterList, ParameterListBuilder, params, pid};

/// Walks a list, reads every value as every type, and writes the list again. The first octet chooses the byte order.
pub fn parameter_list(data: &[u8]) {
    let Some((order, bytes)) = data.split_first() else { return };
    let endianness = Endianness::from_flags(*order);
    let Ok((list, consumed)) = ParameterList::parse(bytes, endianness) else { return };
    assert!(consumed <= bytes.len() && list.iter().count() <= bytes.len() / 4);
    visit(&list);
    write_again(&list);
}

/// Reads everything in a list.
pub(crate) fn visit(list: &ParameterList<'_>) {
    let _ = (list.not_understood(), params::status_info(list), params::key_hash(list));
    let _ =
        (params::coherent_set(list), params::group_coherent_set(list), params::group_sequence_number(list));
    let _ = params::writer_group_info(list);
    let _ = (params::directed_write(list), params::original_writer_info(list));
    let _ = params::related_sample_identity(list);
    let _ = params::content_filter_passed(list, &[0; 16]);
    for parameter in list {
        let _ = pid::name(parameter.pid);
        visit_value(&parameter, list.endianness());
    }
}

fn visit_value(parameter: &Parameter<'_>, endianness: Endianness) {
    let value = parameter.value;
    let _ = (params::as_u32(value, endianness), params::as_bool(value, endianness));
    let _ = (params::as_guid(value, endianness), params::as_locator(value, endianness));
    let _ = (params::as_duration(value, endianness), params::as_duration_of_nanos(value, endianness));
    let _ = params::as_sequence_number(value, endianness);
    if let Ok(text) = params::as_str(value, endianness) {
        assert!(text.len() <= value.len() && !text.contains('\0'));
    }
    if let Ok(octets) = params::as_octets(value, endianness) {
        assert!(octets.len() <= value.len());
    }
    if let Ok(strings) = params::as_strings(value, endianness) {
        let announced = strings.len();
        assert!(announced <= value.len() / 4);
        assert_eq!(strings.count(), announced);
    }
    visit_fields(ParamReader::new(value, endianness));
}

/// Reads fields of mixed alignment until the value ends.
fn visit_fields(mut reader: ParamReader<'_>) {
    loop {
        let before = reader.remaining();
        let read = reader.u8().is_ok() && reader.u16().is_ok() && reader.u8().is_ok() && reader.u32().is_ok();
        if !read {
            return;
        }
        assert!(reader.remaining() < before);
    }
}

fn write_again(list: &ParameterList<'_>) {
    let ordinary = |parameter: &Parameter<'_>| {
        parameter.pid & !pid::MUST_UNDERSTAND != pid::EXTENDED && parameter.value.len() < 0xfffc
    };
    let mut builder = ParameterListBuilder::with_endianness(list.endianness());
    for parameter in list.iter().filter(ordinary) {
        assert!(builder.put_bytes(parameter.pid, parameter.value));
    }
    let bytes = builder.finish();
    let (again, consumed) = ParameterList::parse(&bytes, list.endianness()).expect("a valid list");
    assert_eq!(consumed, bytes.len());
    assert!(again.iter().eq(list.iter().filter(ordinary)));
}
