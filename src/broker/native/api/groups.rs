//! The requests about groups: their coordinator, their members, their offsets.

use kafka_protocol::messages::{
    ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest, DeleteGroupsRequest, DescribeGroupsRequest,
    FindCoordinatorRequest, HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, ListGroupsRequest,
    OffsetCommitRequest, OffsetFetchRequest, SyncGroupRequest,
};
use kafka_protocol::protocol::VersionRange;

use super::Api;
use crate::broker::native::shape::{
    Field, blob, bool, int8, int16, int32, int64, nullable, numbers, structs, structure, text, texts, uuid,
};

api! { FindCoordinatorRequest "FindCoordinator", 1 to 4:
    int32(1),
    int16(0).until(3),
    text(1).until(3),
    int32(0).until(3),
    text(0).until(3),
    int32(0).until(3),
    structs(4, &[text(4), int32(4), text(4), int32(4), int16(4), text(4)]),
}

api! { OffsetCommitRequest "OffsetCommit", 2 to 9:
    int32(3),
    structs(2, &[text(2), structs(2, &[int32(2), int16(2)])]),
}

api! { OffsetFetchRequest "OffsetFetch", 2 to 9:
    int32(3),
    structs(1, &[text(1), structs(1, COMMITTED)]).until(7),
    int16(2).until(7),
    structs(8, &[text(8), structs(8, &[text(8), structs(8, COMMITTED)]), int16(8)]),
}

const COMMITTED: &[Field] = &[int32(1), int64(1), int32(5), text(1), int16(1)];

api! { DeleteGroupsRequest "DeleteGroups", 0 to 2:
    int32(0),
    structs(0, &[text(0), int16(0)]),
}

api! { ListGroupsRequest "ListGroups", 0 to 5:
    int32(1),
    int16(0),
    structs(0, &[text(0), text(0), text(4), text(5)]),
}

api! { DescribeGroupsRequest "DescribeGroups", 0 to 6:
    int32(1),
    structs(0, &[
        int16(0),
        text(6),
        text(0),
        text(0),
        text(0),
        text(0),
        structs(0, &[text(0), text(4), text(0), text(0), blob(0), blob(0)]),
        int32(3),
    ]),
}

api! { ConsumerGroupDescribeRequest "ConsumerGroupDescribe", 0 to 1:
    int32(0),
    structs(0, &[
        int16(0),
        text(0),
        text(0),
        text(0),
        int32(0),
        int32(0),
        text(0),
        structs(0, &[
            text(0),
            text(0),
            text(0),
            int32(0),
            text(0),
            text(0),
            texts(0),
            text(0),
            structure(0, ASSIGNED),
            structure(0, ASSIGNED),
            int8(1),
        ]),
        int32(0),
    ]),
}

const ASSIGNED: &[Field] = &[structs(0, &[uuid(0), text(0), numbers(0)])];

/// What a classic consumer is assigned, as the leader of its group wrote it.
pub(in crate::broker::native) const CONSUMER_ASSIGNMENT: &[Field] = &[structs(0, &[text(0), numbers(0)]), blob(0)];

// Version 2 brought throttling; 5 instance ids; 9 the assignment that is not to be made again.
api! { JoinGroupRequest "JoinGroup", 2 to 9:
    int32(2),
    int16(0),
    int32(0),
    text(7),
    text(0),
    text(0),
    bool(9),
    text(0),
    structs(0, &[text(0), text(5), blob(0)]),
}

api! { SyncGroupRequest "SyncGroup", 1 to 5:
    int32(1),
    int16(0),
    text(5),
    text(5),
    blob(0),
}

api! { HeartbeatRequest "Heartbeat", 1 to 4:
    int32(1),
    int16(0),
}

api! { LeaveGroupRequest "LeaveGroup", 1 to 5:
    int32(1),
    int16(0),
    structs(3, &[text(3), text(3), int16(3)]),
}

api! { ConsumerGroupHeartbeatRequest "ConsumerGroupHeartbeat", 0 to 1:
    int32(0),
    int16(0),
    text(0),
    text(0),
    int32(0),
    int32(0),
    nullable(0, &[structs(0, &[uuid(0), numbers(0)])]),
}
