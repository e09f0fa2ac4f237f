//! Dunlin with samples that are lent: written where readers of other processes see them.

use std::sync::Arc;

use anyhow::{Result, ensure};
use dunlin::qos::{PublisherQos, SubscriberQos, TopicQos};
use dunlin::{DataReader, DataWriter, DdsType, DomainParticipant, StatusMask};
use dunlin_bench_adapter::{OnPayload, Open, Session};

use super::dunlin::{reader_qos, writer_qos};

/// Samples that a reader hands over at once.
const BATCH: usize = 64;

/// Octets of a history: half of the pool that a writer lends from.
const HISTORY: usize = 8 << 20;

/// A sample that is in memory what it is on the wire.
trait Frame: DdsType {
    fn octets(&self) -> &[u8];
    fn octets_mut(&mut self) -> &mut [u8];
}

macro_rules! frames {
    ($($name:ident $len:literal),*) => {
        $(
            #[derive(DdsType)]
            #[repr(C)]
            #[dds(final)]
            struct $name {
                octets: [u8; $len],
            }

            impl Frame for $name {
                fn octets(&self) -> &[u8] {
                    &self.octets
                }

                fn octets_mut(&mut self) -> &mut [u8] {
                    &mut self.octets
                }
            }
        )*

        /// Payloads that there is a type for.
        const SIZES: &[usize] = &[$($len),*];

        /// Endpoints for the payload of `open`.
        pub(super) fn open(
            open: &Open,
            participant: DomainParticipant,
            on_payload: &OnPayload,
        ) -> Result<Box<dyn Session>> {
            ensure!(
                SIZES.contains(&open.payload) && open.payload == open.arriving,
                "loans are for payloads of {SIZES:?} bytes, and answers of the same size"
            );
            match open.payload {
                $($len => Endpoints::<$name>::open(open, participant, on_payload),)*
                _ => anyhow::bail!("no type of that size"),
            }
        }
    };
}

frames!(
    Of16 16, Of64 64, Of1024 1_024, Of16384 16_384, Of102400 102_400, Of307200 307_200, Of921600 921_600
);

struct Endpoints<T: Frame> {
    // Endpoints go before their participant.
    writers: Vec<Arc<DataWriter<T>>>,
    readers: Vec<DataReader<T>>,
    _participant: DomainParticipant,
}

impl<T: Frame + Send + Sync> Endpoints<T> {
    fn open(open: &Open, participant: DomainParticipant, on_payload: &OnPayload) -> Result<Box<dyn Session>> {
        let publisher = participant.create_publisher(&PublisherQos::default())?;
        let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
        let mut writers = Vec::new();
        let mut qos = writer_qos(open);
        if open.keep_last.is_none() {
            // What readers have not acknowledged is in the pool, of at most 1,024 slots. A reader that has half of them gets
            // copies: so many, and what it takes at once, are less.
            let room = (HISTORY / open.payload).clamp(8, 512 - BATCH);
            qos = qos.resource_limits(room.try_into()?, -1, -1);
        }
        for name in &open.writes {
            let topic = participant.create_topic::<T>(name, &TopicQos::default())?;
            writers.push(Arc::new(publisher.create_datawriter(&topic, &qos)?));
        }
        let answers = writers.first().cloned();
        let mut readers = Vec::new();
        for name in &open.reads {
            let topic = participant.create_topic::<T>(name, &TopicQos::default())?;
            let reader = subscriber.create_datareader(&topic, &reader_qos(open))?;
            let (answers, on_payload) = (answers.clone(), Arc::clone(on_payload));
            reader.set_listener(
                move |reader: &DataReader<T>| on_data(reader, answers.as_deref(), &on_payload),
                StatusMask::DATA_AVAILABLE,
            );
            readers.push(reader);
        }
        Ok(Box::new(Self { writers, readers, _participant: participant }))
    }
}

fn on_data<T: Frame>(reader: &DataReader<T>, answers: Option<&DataWriter<T>>, on_payload: &OnPayload) {
    let answer = |payload: &[u8]| answers.map_or(Ok(()), |writer| lend(writer, payload));
    while let Ok(samples) = reader.take_loaned(BATCH) {
        if samples.is_empty() {
            return;
        }
        samples.iter().filter_map(|sample| sample.data()).for_each(|it| on_payload(it.octets(), &answer));
    }
}

fn lend<T: Frame>(writer: &DataWriter<T>, payload: &[u8]) -> Result<()> {
    let mut loan = writer.loan_sample()?;
    ensure!(loan.is_shared(), "the pool has no free slot, so the sample would be copied");
    let octets = loan.octets_mut();
    ensure!(octets.len() == payload.len(), "a payload of {} bytes", payload.len());
    octets.copy_from_slice(payload);
    Ok(writer.write_loaned(loan)?)
}

impl<T: Frame + Send + Sync> Session for Endpoints<T> {
    fn matched(&self) -> usize {
        let writers = self.writers.iter().map(|writer| writer.publication_matched_status().current_count);
        let readers = self.readers.iter().map(|reader| reader.subscription_matched_status().current_count);
        writers.chain(readers).min().unwrap_or(0).try_into().unwrap_or(0)
    }

    fn write(&self, payload: &[u8]) -> Result<()> {
        self.writers.first().map_or(Ok(()), |writer| lend(writer, payload))
    }
}
