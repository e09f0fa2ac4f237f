// Eclipse Cyclone DDS.
#include "../adapter.hpp"
#include "api.hpp"

#include <cstdlib>

namespace {

using namespace cyclone;

class Endpoints : public bench::Session {
public:
    Endpoints(const bench::Open &open, bench::OnPayload handler) : on_payload(std::move(handler)) {
        std::string config = "<General><Interfaces><NetworkInterface name=\"" + open.interface +
                             "\" multicast=\"true\"/></Interfaces>";
        std::string most = open.option("max_message", ""), fragment = open.option("fragment", "");
        if (!most.empty()) config += "<MaxMessageSize>" + most + "</MaxMessageSize>";
        if (!fragment.empty()) config += "<FragmentSize>" + fragment + "</FragmentSize>";
        config += "</General>";
        // The second session of a process joins the domain that the first configured.
        (void)dds_create_domain(open.domain, config.c_str());
        participant = check(dds_create_participant(open.domain, nullptr, nullptr), "participant");
        dds_qos *qos = dds_create_qos();
        dds_qset_reliability(qos, open.reliable ? 1 : 0, 10000000000);
        dds_qset_history(qos, open.keep_last > 0 ? 0 : 1, open.keep_last > 0 ? open.keep_last : -1);
        if (open.option("batching", "0") == "1") dds_qset_writer_batching(qos, true);
        answer = [this](const uint8_t *payload, size_t size) { write(payload, size); };
        for (const auto &name : open.writes)
            writers.push_back(check(dds_create_writer(participant, topic(name), qos, nullptr), "writer"));
        dds_listener *listener = dds_create_listener(this);
        dds_lset_data_available(listener, [](dds_entity_t reader, void *self) {
            static_cast<Endpoints *>(self)->take(reader);
        });
        for (const auto &name : open.reads)
            readers.push_back(check(dds_create_reader(participant, topic(name), qos, listener), "reader"));
        dds_delete_listener(listener);
        dds_delete_qos(qos);
    }

    ~Endpoints() override { dds_delete(participant); }

    size_t matched() override {
        uint32_t fewest = UINT32_MAX;
        dds_matched_status status{};
        for (dds_entity_t writer : writers) {
            check(dds_get_publication_matched_status(writer, &status), "status");
            fewest = std::min(fewest, status.current);
        }
        for (dds_entity_t reader : readers) {
            check(dds_get_subscription_matched_status(reader, &status), "status");
            fewest = std::min(fewest, status.current);
        }
        return fewest == UINT32_MAX ? 0 : fewest;
    }

    void write(const uint8_t *payload, size_t size) override {
        Octets sample{static_cast<uint32_t>(size), static_cast<uint32_t>(size), const_cast<uint8_t *>(payload), false};
        check(dds_write(writers.front(), &sample), "write");
    }

    void flush() override {
        if (!writers.empty()) check(dds_write_flush(writers.front()), "flush");
    }

private:
    dds_entity_t topic(const std::string &name) {
        return check(dds_create_topic(participant, &octets, name.c_str(), nullptr, nullptr), "topic");
    }

    void take(dds_entity_t reader) {
        constexpr uint32_t most = 64;
        void *samples[most] = {};
        dds_sample_info infos[most];
        for (;;) {
            int32_t count = dds_take(reader, samples, infos, most, most);
            if (count <= 0) return;
            for (int32_t at = 0; at < count; ++at) {
                auto *sample = static_cast<Octets *>(samples[at]);
                if (infos[at].valid_data) on_payload(sample->buffer, sample->length, answer);
            }
            dds_return_loan(reader, samples, count);
        }
    }

    bench::OnPayload on_payload;
    bench::Write answer;
    dds_entity_t participant = 0;
    std::vector<dds_entity_t> writers, readers;
};

}  // namespace

int main() {
    bench::Implementation cyclone;
    cyclone.name = "Cyclone DDS";
    cyclone.version = CYCLONE_VERSION;
    cyclone.can = "intra-process,two-hosts,reliable,best-effort,many-topics,many-readers";
    cyclone.built = CYCLONE_BUILT ", adapter g++ -O2";
    cyclone.options = {"batching", "max_message", "fragment"};
    cyclone.open = [](const bench::Open &open, bench::OnPayload on_payload) {
        return std::make_unique<Endpoints>(open, std::move(on_payload));
    };
    return bench::serve(std::move(cyclone));
}
