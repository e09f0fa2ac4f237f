// Fast DDS with the options and lines of shape_main: see docs/shapes.md. Fast DDS 2 has XCDR1 only.
#include "options.hpp"
#if __has_include(<fastdds/rtps/transport/UDPv4TransportDescriptor.hpp>)
#include "version3.hpp"
#else
#include "version2.hpp"
#endif

#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/DataWriterListener.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/ContentFilteredTopic.hpp>
#include <fastdds/dds/topic/Topic.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

using namespace eprosima::fastdds::dds;

static std::atomic<bool> ended{false};

struct Shape {
    static constexpr const char* name = "ShapeType";
    static constexpr size_t max_size = 1024;
    static constexpr bool appendable = true;
    std::string color;
    int32_t x = 0, y = 0, shapesize = 0;
    std::vector<uint8_t> more;
    size_t payload_size() const { return more.size(); }
    const std::string& key() const { return color; }
    void write(Cdr& out) const {
        write_appendable(out, [&] { out << color << x << y << shapesize << more; });
    }
    void read(Cdr& in) {
        begin_appendable(in);
        in >> color >> x >> y >> shapesize >> more;
    }
    void read_key(Cdr& in) { in >> color; }
};

static void say(const std::string& line) {
    static std::mutex one_at_a_time;
    const std::lock_guard<std::mutex> guard(one_at_a_time);
    std::cout << line << std::endl;
}

static void line_of(const std::string& topic, const Shape& s) {
    char text[256];
    std::snprintf(text, sizeof text, "%-10s %-10s %03d %03d [%d]", topic.c_str(), s.color.c_str(), s.x, s.y, s.shapesize);
    say(text + (s.more.empty() ? std::string() : " {" + std::to_string(s.more.back()) + "}"));
}

// Prints what happens to an endpoint, from the moment when its creation has been told.
class Tell : public DataWriterListener, public DataReaderListener {
public:
    explicit Tell(const std::string& topic) : of("() topic: '" + topic + "'  type: 'ShapeType' : ") {}

    void created(const std::string& line) {
        const std::lock_guard<std::mutex> guard(mutex);
        say(line);
        for (const auto& each : kept) say(each);
        told = true;
    }
    void on_publication_matched(DataWriter*, const PublicationMatchedStatus& s) override {
        tell("on_publication_matched", "matched readers " + counts(s.current_count, s.current_count_change));
    }
    void on_subscription_matched(DataReader*, const SubscriptionMatchedStatus& s) override {
        tell("on_subscription_matched", "matched writers " + counts(s.current_count, s.current_count_change));
    }
    void on_offered_incompatible_qos(DataWriter*, const OfferedIncompatibleQosStatus& s) override {
        tell("on_offered_incompatible_qos", std::to_string(s.last_policy_id));
    }
    void on_requested_incompatible_qos(DataReader*, const RequestedIncompatibleQosStatus& s) override {
        tell("on_requested_incompatible_qos", std::to_string(s.last_policy_id));
    }
    void on_offered_deadline_missed(DataWriter*, const OfferedDeadlineMissedStatus& s) override {
        tell("on_offered_deadline_missed", "(total = " + std::to_string(s.total_count) + ")");
    }
    void on_requested_deadline_missed(DataReader*, const RequestedDeadlineMissedStatus& s) override {
        tell("on_requested_deadline_missed", "(total = " + std::to_string(s.total_count) + ")");
    }

private:
    static std::string counts(int now, int change) {
        return std::to_string(now) + " (change = " + std::to_string(change) + ")";
    }
    void tell(const std::string& what, const std::string& more) {
        const std::lock_guard<std::mutex> guard(mutex);
        if (told) {
            say(what + of + more);
        } else {
            kept.push_back(what + of + more);
        }
    }

    const std::string of;
    std::mutex mutex;
    bool told = false;
    std::vector<std::string> kept;
};

static Duration_t ms(int number) { return Duration_t(number / 1000, static_cast<uint32_t>(number % 1000) * 1000000u); }

template <class Qos>
static void common(Qos& qos, const Options& o) {
    qos.reliability().kind = o.has("-b") ? BEST_EFFORT_RELIABILITY_QOS : RELIABLE_RELIABILITY_QOS;
    qos.reliability().max_blocking_time = Duration_t(10, 0);
    const std::map<std::string, DurabilityQosPolicyKind> durabilities = {
        {"v", VOLATILE_DURABILITY_QOS}, {"l", TRANSIENT_LOCAL_DURABILITY_QOS},
        {"t", TRANSIENT_DURABILITY_QOS}, {"p", PERSISTENT_DURABILITY_QOS}};
    qos.durability().kind = durabilities.at(o.text("-D", "v"));
    const int depth = o.number("-k", 1);
    qos.history().kind = depth == 0 ? KEEP_ALL_HISTORY_QOS : KEEP_LAST_HISTORY_QOS;
    if (depth > 0) qos.history().depth = depth;
    // 0 is no limit here.
    qos.resource_limits().max_samples = 0;
    qos.resource_limits().max_instances = 0;
    qos.resource_limits().max_samples_per_instance = 0;
    qos.ownership().kind = o.number("-s", -1) < 0 ? SHARED_OWNERSHIP_QOS : EXCLUSIVE_OWNERSHIP_QOS;
    if (o.has("-f")) qos.deadline().period = ms(o.number("-f", 0));
    use_representation(qos, o.number("-x", 1) == 2);
    qos.endpoint().history_memory_policy = PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
}

template <class Qos>
static void group(Qos& qos, const Options& o) {
    if (o.has("-p")) qos.partition().push_back(o.text("-p", "").c_str());
    if (!o.has("--coherent") && !o.has("--ordered")) return;
    const std::map<std::string, PresentationQosPolicyAccessScopeKind> scopes = {
        {"i", INSTANCE_PRESENTATION_QOS}, {"t", TOPIC_PRESENTATION_QOS}, {"g", GROUP_PRESENTATION_QOS}};
    qos.presentation().access_scope = scopes.at(o.text("--access-scope", "i"));
    qos.presentation().coherent_access = o.has("--coherent");
    qos.presentation().ordered_access = o.has("--ordered");
}

static void rest(int milliseconds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    while (!ended && std::chrono::steady_clock::now() < until) {
        std::this_thread::sleep_until(std::min(until, std::chrono::steady_clock::now() + std::chrono::milliseconds(20)));
    }
}

static void write_all(DataWriter* writer, const Options& o, const std::string& topic) {
    std::vector<std::string> colors = {o.text("-c", "BLUE")};
    for (int n = 1; n < o.number("--num-instances", 1); ++n) colors.push_back(colors[0] + std::to_string(n));
    std::mt19937 random(std::random_device{}());
    Shape shape;
    shape.x = static_cast<int>(random() % 240);
    shape.y = static_cast<int>(random() % 270);
    shape.shapesize = o.number("-z", 20);
    shape.more.assign(static_cast<size_t>(o.number("--additional-payload-size", 0)), 255);
    int dx = 1 + static_cast<int>(random() % 5), dy = 1 + static_cast<int>(random() % 5);
    const int modulo = o.number("--size-modulo", 0), iterations = o.number("--num-iterations", 0);
    for (int n = 0; !ended && (iterations == 0 || n < iterations); ++n) {
        if (shape.x + dx < 0 || shape.x + dx > 240) dx = -dx;
        if (shape.y + dy < 0 || shape.y + dy > 270) dy = -dy;
        shape.x += dx;
        shape.y += dy;
        if (o.number("-z", 20) == 0) shape.shapesize = (modulo > 0 ? shape.shapesize % modulo : shape.shapesize) + 1;
        for (const auto& color : colors) {
            shape.color = color;
            if (write_sample(writer, shape) && o.has("-w")) line_of(topic, shape);
        }
        rest(o.number("--write-period", 33));
    }
    const std::string last = o.text("--final-instance-state", "");
    for (const auto& color : colors) {
        shape.color = color;
        if (last == "d") writer->dispose(&shape, HANDLE_NIL);
        if (last == "u") writer->unregister_instance(&shape, HANDLE_NIL);
    }
    writer->wait_for_acknowledgments(ms(ended ? 300 : 1000));
}

static int publish(const Options& o, DomainParticipant* participant, Topic* topic, Tell& tell) {
    PublisherQos publisher_qos = PUBLISHER_QOS_DEFAULT;
    group(publisher_qos, o);
    DataWriterQos qos = DATAWRITER_QOS_DEFAULT;
    common(qos, o);
    qos.publish_mode().kind = ASYNCHRONOUS_PUBLISH_MODE;
    // Nothing is disposed unless asked for.
    qos.writer_data_lifecycle().autodispose_unregistered_instances = o.text("--final-instance-state", "") == "d";
    if (o.number("-s", -1) >= 0) qos.ownership_strength().value = static_cast<uint32_t>(o.number("-s", 0));
    if (o.has("--lifespan")) qos.lifespan().duration = ms(o.number("--lifespan", 0));
    DataWriter* writer = participant->create_publisher(publisher_qos)->create_datawriter(topic, qos, &tell);
    if (writer == nullptr) return say("the writer's policies: not supported"), 2;
    tell.created("Create writer for topic: " + topic->get_name() + " color: " + o.text("-c", "BLUE"));
    write_all(writer, o, topic->get_name());
    return 0;
}

static void read_all(DataReader* reader, const Options& o, const std::string& topic) {
    std::map<InstanceHandle_t, std::string> colors;
    while (!ended) {
        Shape shape;
        SampleInfo info;
        while (reader->take_next_sample(&shape, &info) == OK) {
            if (info.valid_data) {
                colors[info.instance_handle] = shape.color;
                line_of(topic, shape);
            }
            char text[128];
            const char* state = info.instance_state == NOT_ALIVE_DISPOSED_INSTANCE_STATE ? "DISPOSED"
                              : info.instance_state == NOT_ALIVE_NO_WRITERS_INSTANCE_STATE ? "NO_WRITERS" : nullptr;
            if (state == nullptr) continue;
            const auto color = colors[info.instance_handle];
            std::snprintf(text, sizeof text, "%-10s %-10s NOT_ALIVE_%s_INSTANCE_STATE", topic.c_str(), color.c_str(), state);
            say(text);
        }
        rest(o.number("--read-period", 100));
    }
}

static bool filters(const Options& o) { return o.has("-S") && (o.has("--cft") || o.has("-c")); }

// The topic, or one with the filter that is asked for; nothing if that cannot be.
static TopicDescription* filtered(const Options& o, DomainParticipant* participant, Topic* topic) {
    const std::string name = topic->get_name() + "_filtered", color = o.text("-c", "");
    if (!filters(o)) return topic;
    if (o.has("--cft")) return participant->create_contentfilteredtopic(name, topic, o.text("--cft", ""), {});
    return participant->create_contentfilteredtopic(name, topic, "color = %0", {"'" + color + "'"});
}

static int subscribe(const Options& o, DomainParticipant* participant, Topic* topic, Tell& tell) {
    if (o.has("--time-filter")) return say("TIME_BASED_FILTER: not supported"), 2;
    SubscriberQos subscriber_qos = SUBSCRIBER_QOS_DEFAULT;
    group(subscriber_qos, o);
    DataReaderQos qos = DATAREADER_QOS_DEFAULT;
    common(qos, o);
    TopicDescription* description = filtered(o, participant, topic);
    if (description == nullptr) return say("failed to create content filtered topic"), 2;
    DataReader* reader = participant->create_subscriber(subscriber_qos)->create_datareader(description, qos, &tell);
    if (reader == nullptr) return say("the reader's policies: not supported"), 2;
    tell.created("Create reader for topic: " + description->get_name());
    read_all(reader, o, topic->get_name());
    return 0;
}

int main(int argc, char** argv) {
    const Options o(argc, argv);
    for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { ended = true; });
    const std::string name = o.text("-t", "Square");
    if (o.number("-x", 1) != 1 && !speaks_xcdr2) return say("Create topic: " + name), say("this representation: not supported"), 2;
    if (o.has("--num-topics") || o.has("--coherent-sample-count")) {
        return say("Create topic: " + name), say("coherent sets: not supported"), 2;
    }
    if (filters(o) && !describe_shape(128, Shape::appendable, "additional_payload_size")) {
        return say("Create topic: " + name), say("a type object: not supported"), 2;
    }
    DomainParticipantQos qos;
    auto udp = std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>();
    udp->interfaceWhiteList.push_back("127.0.0.1");
    qos.transport().use_builtin_transports = false;
    qos.transport().user_transports.push_back(udp);
    auto factory = DomainParticipantFactory::get_instance();
    DomainParticipant* participant = factory->create_participant(static_cast<uint32_t>(o.number("-d", 0)), qos);
    TypeSupport type(new TypeSupportOf<Shape>());
    type.register_type(participant);
    Topic* topic = participant->create_topic(name, Shape::name, TOPIC_QOS_DEFAULT);
    say("Create topic: " + name);
    Tell tell(name);
    const int code = o.has("-P") ? publish(o, participant, topic, tell) : subscribe(o, participant, topic, tell);
    participant->delete_contained_entities();
    factory->delete_participant(participant);
    say("Done.");
    return code;
}
