// SPDX-License-Identifier: Apache-2.0
// Datagrams that carry a descriptor and its sender's credentials. Layer: twin/fabric.
// Sending and receiving take turns: a socket queues only a few datagrams, and a rank that only sent would block.
#include "twin/fabric/fd_exchange.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>

namespace ascend_deepep::twin {
namespace {

struct Datagram {
    uint64_t meeting;
    uint32_t rank;
    uint32_t reserved;
};

socklen_t make_address(const std::string& name, sockaddr_un* address) {
    *address = {};
    address->sun_family = AF_UNIX;
    std::memcpy(address->sun_path + 1, name.data(), name.size());  // a leading zero byte: the abstract name space
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

std::string join_ranks(const std::vector<uint32_t>& ranks) {
    std::string text;
    for (uint32_t rank : ranks)
        text += (text.empty() ? "" : ", ") + std::to_string(rank);
    return text;
}

// Takes the descriptor and the credentials out of a message. False: not both are there.
bool unpack_control(msghdr* message, FileDescriptor* fd, ucred* sender) {
    bool has_sender = false;
    for (cmsghdr* part = CMSG_FIRSTHDR(message); part != nullptr; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET) continue;
        if (part->cmsg_type == SCM_RIGHTS && part->cmsg_len == CMSG_LEN(sizeof(int))) {
            int value;
            std::memcpy(&value, CMSG_DATA(part), sizeof(value));
            fd->reset(value);
        } else if (part->cmsg_type == SCM_CREDENTIALS && part->cmsg_len == CMSG_LEN(sizeof(ucred))) {
            std::memcpy(sender, CMSG_DATA(part), sizeof(*sender));
            has_sender = true;
        }
    }
    return has_sender && fd->valid();
}

}  // namespace

FdExchange::FdExchange(uint64_t nonce)
    : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
      name_("ascend-deepep-" + std::to_string(::getpid()) + "-" + std::to_string(nonce)) {
    if (!socket_.valid()) raise_system_error("opening a Unix socket for the rendezvous failed");
    const int on = 1;
    if (::setsockopt(socket_.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0) {
        raise_system_error("asking for senders' credentials on a Unix socket failed");
    }
    sockaddr_un address;
    const socklen_t length = make_address(name_, &address);
    if (::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) {
        raise_system_error("binding the Unix socket " + name_ + " failed");
    }
}

bool FdExchange::send_to(const ExchangePeer& peer, uint32_t rank, int fd, uint64_t meeting) {
    Datagram datagram{meeting, rank, 0};
    iovec piece{&datagram, sizeof(datagram)};
    sockaddr_un address;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_name = &address;
    message.msg_namelen = make_address(peer.socket_name, &address);
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(part), &fd, sizeof(fd));
    if (::sendmsg(socket_.get(), &message, MSG_NOSIGNAL) >= 0) return true;
    // Full queues and too many descriptors in flight pass; a peer that is not there is found by the time-out.
    if (errno == EAGAIN || errno == ENOBUFS || errno == ETOOMANYREFS || errno == EINTR || errno == ECONNREFUSED) {
        return false;
    }
    raise_system_error("sending a window to " + peer.socket_name + " failed");
}

bool FdExchange::receive(const std::vector<ExchangePeer>& peers, uint64_t meeting,
                         std::vector<FileDescriptor>* received) {
    Datagram datagram{};
    iovec piece{&datagram, sizeof(datagram)};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(ucred))] = {};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    const ssize_t bytes = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
    if (bytes < 0) {
        if (errno == EAGAIN || errno == EINTR) return false;
        raise_system_error("receiving a window failed");
    }
    FileDescriptor fd;
    ucred sender{};
    const bool complete = unpack_control(&message, &fd, &sender);
    // Anybody on the host may write to an abstract socket: what is not from the process that the rendezvous named is
    // dropped, and the true sender still comes.
    if (!complete || bytes != sizeof(datagram) || datagram.meeting != meeting || datagram.rank >= peers.size() ||
        sender.pid != peers[datagram.rank].pid || sender.uid != ::geteuid()) {
        return true;
    }
    (*received)[datagram.rank] = std::move(fd);
    return true;
}

std::vector<FileDescriptor> FdExchange::run(uint32_t rank, int fd, const std::vector<ExchangePeer>& peers,
                                            uint64_t meeting, uint32_t timeout_ms) {
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
    std::vector<FileDescriptor> received(peers.size());
    std::vector<bool> sent(peers.size(), false);
    sent[rank] = true;
    for (;;) {
        std::vector<uint32_t> unsent, missing;
        for (uint32_t peer = 0; peer < peers.size(); ++peer) {
            if (!sent[peer]) sent[peer] = send_to(peers[peer], rank, fd, meeting);
            if (!sent[peer]) unsent.push_back(peer);
        }
        while (receive(peers, meeting, &received)) {
        }
        for (uint32_t peer = 0; peer < peers.size(); ++peer) {
            if (peer != rank && !received[peer].valid()) missing.push_back(peer);
        }
        if (unsent.empty() && missing.empty()) return received;
        if (Clock::now() >= deadline) {
            throw FabricSetupError("no window came from rank " + join_ranks(missing.empty() ? unsent : missing) +
                                   " within " + std::to_string(timeout_ms) + " ms of the rendezvous");
        }
        pollfd wait{socket_.get(), POLLIN, 0};
        ::poll(&wait, 1, unsent.empty() ? 50 : 1);
    }
}

}  // namespace ascend_deepep::twin
