//! What views cost, and what they say of bytes that do not fit.

use std::collections::BTreeMap;

use dunlin_buf::SharedBytes;
use dunlin_cdr::{CdrError, DdsType, Endianness, Limits, Representation, Scope, to_payload, to_payload_as};
use dunlin_dynamic::{DynamicData, DynamicType, DynamicView, PathError, SharedView, ViewFailure};

#[derive(DdsType, Clone, Debug, Default)]
struct Scan {
    #[dds(key)]
    id: u32,
    frame: String,
    pose: Pose,
    ranges: Vec<f32>,
    points: Vec<Pose>,
    data: Vec<u8>,
    labels: BTreeMap<String, u64>,
    note: Option<String>,
}

#[derive(DdsType, Clone, Debug, Default)]
#[dds(final)]
struct Pose {
    x: f64,
    y: f64,
    name: u8,
}

#[derive(DdsType, Clone, Debug, Default)]
#[dds(mutable)]
struct Listed {
    a: u16,
    inner: Scan,
    b: [i32; 3],
}

fn type_of<T: DdsType>() -> DynamicType {
    let (graph, index) = dunlin_xtypes::from_description(dunlin_cdr::description::<T>());
    DynamicType::new(graph, index).unwrap()
}

fn scan() -> Scan {
    Scan {
        id: 9,
        frame: "laser".into(),
        pose: Pose { x: 1.0, y: 2.0, name: 3 },
        ranges: (0..1000_u16).map(f32::from).collect(),
        points: vec![Pose { x: 5.0, y: 6.0, name: 7 }; 50],
        data: vec![1; 300],
        labels: BTreeMap::from([("near".into(), 1), ("far".into(), 2)]),
        note: Some("none".into()),
    }
}

fn payload_of<T: DdsType>(value: &T, representation: Representation) -> Vec<u8> {
    let mut payload = Vec::new();
    to_payload(value, representation, &mut payload).unwrap();
    payload
}

/// Reads everything of a scan but the list of members of a mutable structure.
fn look(view: &DynamicView<'_>) {
    assert_eq!(view.read::<u32>("id").unwrap(), Some(9));
    assert_eq!(view.read::<&str>("frame").unwrap(), Some("laser"));
    assert_eq!(view.read::<f64>("pose.y").unwrap(), Some(2.0));
    assert_eq!(view.read::<f32>("ranges[999]").unwrap(), Some(999.0));
    assert_eq!(view.read::<u8>("points[49].name").unwrap(), Some(7));
    assert_eq!(view.read::<&[u8]>("data").unwrap(), Some(&[1; 300][..]));
    assert_eq!(view.read::<u64>("labels[\"near\"]").unwrap(), Some(1));
    assert_eq!(view.read::<&str>("note").unwrap(), Some("none"));
    let sum: f32 = view.get("ranges").unwrap().unwrap().numbers::<f32>().unwrap().sum();
    assert!((sum - 499_500.0).abs() < 1.0);
    let points = view.get("points").unwrap().unwrap();
    assert!(points.elements().unwrap().all(|point| point.unwrap().read::<f64>("x").unwrap() == Some(5.0)));
    assert_eq!(view.get("labels").unwrap().unwrap().pairs().unwrap().count(), 2);
    assert_eq!(view.members().unwrap().count(), 8);
}

#[test]
fn dynamic_view_reads_without_allocation() {
    let ty = type_of::<Scan>();
    for representation in [Representation::Xcdr1, Representation::Xcdr2] {
        let payload = payload_of(&scan(), representation);
        let looking = allocation_counter::measure(|| {
            let view = DynamicView::new(&ty, &payload).unwrap();
            view.check().unwrap();
            look(&view);
        });
        assert_eq!(looking.count_total, 0, "{representation:?}");
        let decoding = allocation_counter::measure(|| {
            DynamicData::from_payload(&ty, &payload).unwrap();
        });
        assert!(decoding.count_total >= 60, "{}", decoding.count_total);
    }
}

#[test]
fn members_of_mutable_structures_take_no_memory_either() {
    let ty = type_of::<Listed>();
    for representation in [Representation::Xcdr1, Representation::Xcdr2] {
        let payload = payload_of(&Listed { a: 4, inner: scan(), b: [1, 2, 3] }, representation);
        let looking = allocation_counter::measure(|| {
            let view = DynamicView::new(&ty, &payload).unwrap();
            view.check().unwrap();
            assert_eq!(view.read::<i32>("b[2]").unwrap(), Some(3));
            look(&view.member("inner").unwrap().unwrap());
        });
        assert_eq!(looking.count_total, 0, "{representation:?}");
    }
}

#[test]
fn a_shared_view_keeps_octets_that_are_not_copied() {
    let ty = type_of::<Scan>();
    let payload = SharedBytes::from(payload_of(&scan(), Representation::Xcdr1));
    let mut shared = None;
    let cost = allocation_counter::measure(|| {
        shared = SharedView::new(&ty, payload.clone(), &Limits::default(), Default::default()).ok();
    });
    assert_eq!(cost.count_total, 0);
    let shared = shared.unwrap();
    assert_eq!(shared.payload().as_ptr(), payload.as_ptr());
    drop(payload);
    look(&shared.view());
    assert_eq!(shared.to_data().unwrap().value(), &shared.view().to_value().unwrap());
}

#[test]
fn numbers_in_place_are_those_of_this_machine() {
    let ty = type_of::<Scan>();
    for (endianness, native) in
        [(Endianness::Little, cfg!(target_endian = "little")), (Endianness::Big, cfg!(target_endian = "big"))]
    {
        let mut octets = Vec::new();
        to_payload_as(&scan(), Representation::Xcdr2, endianness, Scope::Sample, &mut octets).unwrap();
        // The same bytes at every address.
        let mut memory = vec![0_u8; octets.len() + 8];
        let mut in_place = 0;
        for at in 0..4 {
            memory[at..at + octets.len()].copy_from_slice(&octets);
            let view = DynamicView::new(&ty, &memory[at..at + octets.len()]).unwrap();
            let ranges = view.get("ranges").unwrap().unwrap();
            match ranges.as_slice::<f32>() {
                Ok(slice) => {
                    assert_eq!(slice.len(), 1000);
                    assert!(memory.as_ptr_range().contains(&slice.as_ptr().cast()));
                    in_place += 1;
                }
                Err(error) => assert_eq!(error.why, ViewFailure::Layout),
            }
            assert!(ranges.numbers::<f32>().unwrap().eq((0..1000_u16).map(f32::from)));
            assert!(matches!(ranges.as_slice::<u32>().unwrap_err().why, ViewFailure::Kind { .. }));
        }
        assert_eq!(in_place, usize::from(native), "one address in four");
    }
}

#[test]
fn errors_have_paths() {
    let ty = type_of::<Scan>();
    let payload = payload_of(&scan(), Representation::Xcdr1);
    let view = DynamicView::new(&ty, &payload[..50]).unwrap();
    assert_eq!(view.read::<u32>("id").unwrap(), Some(9));
    let error = view.read::<f32>("ranges[3]").unwrap_err();
    assert_eq!(error.path, "ranges[3]");
    assert!(matches!(error.why, ViewFailure::Octets(_)), "{error}");
    assert!(view.check().is_err());
    let view = DynamicView::new(&ty, &payload).unwrap();
    let told = |path: &str| view.get(path).err().unwrap().to_string();
    assert_eq!(told("ranges[1000]"), "ranges[1000]: index 1000 of 1000 elements");
    assert!(told("rangs").starts_with("rangs: "), "{}", told("rangs"));
    assert_eq!(view.get("rangs[").err().unwrap().why, ViewFailure::Path(PathError::Syntax { at: 5 }));
    assert_eq!(view.read::<u8>("frame").unwrap_err().to_string(), "frame: a string is not an integer");
    assert_eq!(view.read::<u8>("ranges").unwrap_err().to_string(), "ranges: a sequence is not an integer");
    let large = view.get("labels[\"near\"]").unwrap().unwrap().read::<i8>("").unwrap();
    assert_eq!(large, Some(1));
    assert!(view.get("labels[\"nowhere\"]").unwrap().is_none());
}

#[derive(DdsType, Clone, Debug, Default)]
#[dds(name = "Report", mutable)]
struct Report {
    #[dds(id = 1)]
    a: u8,
}

#[derive(DdsType, Clone, Debug, Default)]
#[dds(name = "Report", mutable)]
struct Urgent {
    #[dds(id = 1)]
    a: u8,
    #[dds(id = 2, must_understand)]
    b: u8,
    #[dds(id = 3, default = 7)]
    c: u8,
}

/// What decoding refuses as a whole, a view that was not checked refuses where it is looked at.
#[test]
fn members_that_have_to_be_there_are_missed_where_they_are_looked_at() {
    let (old, new) = (type_of::<Report>(), type_of::<Urgent>());
    for representation in [Representation::Xcdr1, Representation::Xcdr2] {
        let payload = payload_of(&Report { a: 5 }, representation);
        let view = DynamicView::new(&new, &payload).unwrap();
        assert_eq!(view.read::<u8>("a").unwrap(), Some(5));
        assert_eq!(view.read::<u8>("c").unwrap(), Some(7), "its default");
        assert!(!view.get("c").unwrap().unwrap().is_received());
        let missing = ViewFailure::Octets(CdrError::MissingMember { id: 2 });
        assert_eq!(view.get("b").err().unwrap().why, missing);
        assert_eq!(view.check(), Err(CdrError::MissingMember { id: 2 }));
        let payload = payload_of(&Urgent { a: 5, b: 1, c: 1 }, representation);
        let view = DynamicView::new(&old, &payload).unwrap();
        assert_eq!(view.check(), Err(CdrError::MustUnderstand { id: 2 }));
        assert!(view.members().is_err());
    }
}

/// More entries than a structure has members are not gathered.
#[test]
fn a_list_of_one_member_over_and_over_takes_no_memory() {
    let ty = type_of::<Report>();
    let one = payload_of(&Report { a: 5 }, Representation::Xcdr2);
    let entry = [&one[8..12], &[5, 0, 0, 0]].concat();
    let mut payload = [&one[..3], &[0]].concat();
    payload.extend(80_000_u32.to_le_bytes());
    payload.extend(entry.repeat(10_000));
    let view = DynamicView::new(&ty, &payload).unwrap();
    let cost = allocation_counter::measure(|| {
        let error = view.members().err().unwrap();
        assert_eq!(error.why, ViewFailure::Octets(CdrError::DuplicateMember { id: 1 }));
    });
    assert!(cost.bytes_total < 10_000, "{}", cost.bytes_total);
}
