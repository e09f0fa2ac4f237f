// What the peers with types of fastddsgen have in common.
#pragma once

#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/ContentFilteredTopic.hpp>
#include <fastdds/dds/topic/Topic.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.hpp>

#include <iostream>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

using namespace eprosima::fastdds::dds;

inline DomainParticipant *make_participant(int domain) {
    DomainParticipantQos qos;
    auto udp = std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>();
    udp->interfaceWhiteList.push_back("127.0.0.1");
    qos.transport().use_builtin_transports = false;
    qos.transport().user_transports.push_back(udp);
    return DomainParticipantFactory::get_instance()->create_participant(domain, qos);
}

// Reliable, transient-local and keep-all, as every peer is.
template <class Qos> void common(Qos &qos) {
    qos.reliability().kind = RELIABLE_RELIABILITY_QOS;
    qos.reliability().max_blocking_time = Duration_t(10, 0);
    qos.durability().kind = TRANSIENT_LOCAL_DURABILITY_QOS;
    qos.history().kind = KEEP_ALL_HISTORY_QOS;
    // Otherwise each writer of a plain type gets a segment for 5,000 samples of it, which stays when the peer is killed.
    qos.data_sharing().off();
    qos.endpoint().history_memory_policy = eprosima::fastdds::rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
}

// Listeners print on threads of their own: a line leaves in one piece.
inline std::mutex one_at_a_time;

template <class... Words> void say(const Words &...words) {
    std::ostringstream line;
    (line << ... << words) << '\n';
    const std::lock_guard<std::mutex> guard(one_at_a_time);
    std::cout << line.str() << std::flush;
}
