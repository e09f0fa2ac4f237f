//! From the configuration schema to the settings of the driver.
use crate::error::CreateParticipantError;
use dunlin_config::Config;
use dunlin_driver::DriverConfig;
use dunlin_qos::DomainParticipantQos;

pub(crate) fn driver_config(
    config: &Config,
    domain: u32,
    qos: &DomainParticipantQos,
    name: &str,
) -> Result<DriverConfig, CreateParticipantError> {
    let mut driver =
        DriverConfig { qos: qos.clone(), entity_name: name.to_owned(), ..DriverConfig::default() };
    driver.udp.domain = domain;
    driver.udp.interfaces = config.get("network.interfaces").map(str::to_owned).into_iter().collect();
    driver.pcap = config.get("debug.pcap").map(Into::into);
    Ok(driver)
}
