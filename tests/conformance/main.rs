//! One suite for every broker adapter: what the ports promise, whichever adapter is behind them.
//!
//! It runs on the embedded broker, or on a real one where `KAFKA_BOOTSTRAP` names it. Tests whose names begin with
//! `embedded_` need what only the embedded broker offers (faults, logs written by hand) and do nothing on a real one.

mod admin;
mod budgets;
mod codecs;
mod compaction;
mod damage;
mod deleting;
mod ends;
mod epochs;
mod exact;
mod fixture;
mod gaps;
mod groups;
mod growing;
mod malformed;
mod membership;
mod offsets;
mod outages;
mod pipes;
mod produce;
mod reading;
mod recreated;
mod rskafka_limits;
mod tampering;
mod transactional;
mod transactions;
mod wire;

/// Runs each function against a plane, as a test named after both.
macro_rules! suite {
    ($plane:ident: $($module:ident { $($test:ident),* $(,)? })*) => {
        mod $plane {
            $(mod $module {
                $(
                    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                    async fn $test() {
                        let fixture = crate::fixture::Fixture::$plane().await;
                        crate::$module::$test(&fixture).await;
                    }
                )*
            })*
        }
    };
}

/// The same functions against both planes.
macro_rules! both_planes {
    ($($tests:tt)*) => {
        suite! { native: $($tests)* }
        suite! { rskafka: $($tests)* }
    };
}

both_planes! {
    admin {
        topics_are_created_described_and_deleted,
        creating_a_topic_twice_is_an_error_with_its_code,
        wrong_configuration_is_an_error_with_the_brokers_text,
        unknown_topics_are_none_and_are_not_created,
        deleting_an_unknown_topic_is_an_error_with_its_code,
        configuration_entries_are_read,
        offsets_by_place_and_time,
        offsets_of_many_partitions_at_once,
        the_latest_timestamp_may_stand_before_the_end,
        partitions_are_added_and_never_taken_away,
        configuration_is_changed_entry_by_entry,
        records_are_deleted_up_to_an_offset,
        the_cluster_and_its_topics_are_told,
        groups_are_listed_and_described,
        an_unreachable_broker_is_named_with_its_cause,
        a_broker_that_never_answers_is_an_error_in_time,
        the_second_bootstrap_address_is_used,
        calls_work_from_a_runtime_without_io,
    }
    groups {
        members_and_their_partitions_are_told_of_either_protocol,
    }
    offsets {
        commits_are_fetched_with_their_metadata,
        leader_epochs_are_kept_beside_offsets,
        what_was_never_committed_is_none,
        groups_do_not_see_each_other,
        committing_to_an_unknown_topic_fails_for_it_alone,
        a_deleted_group_has_no_offsets,
        deleting_an_unknown_group_is_an_error_with_its_code,
    }
    produce {
        records_come_back_byte_for_byte,
        a_batch_keeps_its_order_and_gets_consecutive_offsets,
        concurrent_batches_are_each_kept_together,
        an_unknown_topic_is_an_error_and_is_not_created,
        a_record_that_is_too_large_is_an_error_with_its_code,
    }
    reading {
        reading_begins_at_the_offset_asked_for,
        records_that_arrive_later_are_read,
        a_record_larger_than_a_fetch_arrives,
        a_feed_that_is_not_drained_stops_at_its_limit_while_another_goes_on,
        a_closed_feed_is_not_read_for_any_more,
        a_removed_partition_is_not_read_any_more,
        an_offset_past_the_end_is_reported,
        an_offset_before_the_start_is_reported,
        a_recreated_topic_is_reported,
        a_topic_that_is_missing_is_waited_for,
    }
    transactions {
        committed_records_are_read_past_the_markers,
        a_marker_at_the_end_is_passed_and_told,
        an_open_transaction_is_waited_for_and_not_skipped,
        a_transaction_of_many_batches_is_read_over_many_fetches,
    }
    compaction {
        a_compacted_log_is_read_to_its_end_with_the_last_record_of_each_key,
    }
    deleting {
        records_deleted_up_to_the_reader_and_behind_it_are_not_missed,
        records_deleted_ahead_of_a_reader_that_is_under_way_are_told,
        records_deleted_while_the_feed_is_full_are_told,
        records_that_retention_takes_while_the_feed_is_full_are_told,
        retention_up_to_the_reader_goes_unnoticed,
    }
    recreated {
        one_that_stays_empty_is_told_to_an_idle_reader,
        one_that_is_filled_is_told_to_a_reader_that_was_idle,
        one_that_is_filled_while_the_feed_is_full_is_told,
    }
    growing {
        added_partitions_are_written_and_read_at_once,
    }
    ends {
        the_end_of_the_log_is_told_while_it_is_read,
    }
    exact {
        a_record_of_five_megabytes_arrives,
    }
    epochs {
        embedded_a_leader_that_lost_nothing_is_followed,
    }
    gaps {
        embedded_an_emptied_batch_is_passed,
        embedded_many_emptied_batches_are_passed_and_told,
        embedded_offsets_without_any_batch_are_passed,
    }
    outages {
        embedded_a_dropped_connection_is_reported_once_and_survived,
        embedded_a_broker_that_hangs_is_reported_in_time_and_survived,
        embedded_a_restarted_broker_is_found_again,
        embedded_producing_ends_at_its_timeout,
        embedded_producing_waits_for_a_leader_and_no_longer_than_allowed,
        embedded_a_lost_response_may_duplicate_but_not_lose,
        embedded_the_coordinator_is_looked_for_again,
        embedded_a_coordinator_that_is_never_there_is_an_error_in_time,
        embedded_a_call_without_an_answer_is_an_error_in_time,
    }
}

/// What the native plane does and rskafka does not.
mod native_only {
    suite! { native:
            transactions {
                an_aborted_transaction_of_many_batches_is_left_out_over_many_fetches,
                interleaved_transactions_end_each_by_itself,
                a_hanging_transaction_holds_up_only_who_reads_committed_records,
                what_a_fenced_producer_leaves_is_not_read,
            }
            compaction {
                a_compacted_log_of_transactions_is_read_to_its_end,
            }
            recreated {
                one_that_is_filled_is_told_to_a_reader_that_has_just_read,
                one_that_is_filled_when_the_feed_has_just_become_full_is_told,
                one_that_is_filled_under_a_reader_that_is_under_way_is_told,
                one_created_anew_again_and_again_is_never_taken_for_another,
            }
            codecs {
                what_our_producer_compresses_is_read,
                what_java_compresses_is_read,
            }
            exact {
                headers_keep_their_order_their_doubles_and_their_nulls,
                the_time_of_appending_is_told_where_the_topic_says_so,
            }
            epochs {
                embedded_a_log_that_was_cut_back_is_told,
                embedded_a_log_that_lost_only_what_was_not_read_goes_on,
                embedded_a_log_that_was_cut_back_while_nobody_read_is_told,
                embedded_a_leader_that_changed_while_nobody_read_is_no_problem,
                embedded_an_epoch_that_no_leader_had_does_not_stop_the_reading,
            }
            outages {
                embedded_an_address_that_only_the_brokers_give_is_told_with_what_to_check,
            }
            ends {
                what_is_undecided_lies_past_the_end_for_who_reads_committed_records,
            }
            membership {
                a_classic_group_is_joined_divided_and_left,
                classic_members_that_the_group_went_on_without_are_told_by_codes,
                a_static_classic_member_takes_its_predecessors_place,
                partitions_move_between_members_by_heartbeats_alone,
                members_with_another_epoch_are_told_by_codes,
                a_static_member_comes_back_to_its_partitions,
                the_newer_protocol_is_offered,
                embedded_an_error_about_the_coordinator_is_told_and_then_it_is_looked_for,
            }
            damage {
                embedded_damage_on_the_way_is_not_noticed,
                embedded_damage_that_stays_is_handed_over_raw_and_passed,
                embedded_damage_without_an_end_stops_the_reading,
                embedded_what_cannot_be_decompressed_is_handed_over_raw_and_passed,
                embedded_a_decompression_bomb_is_handed_over_raw_and_passed,
                old_message_formats_stop_the_reading_with_a_remedy,
            }
            malformed {
                embedded_answers_to_fetches_are_got_over,
                embedded_answers_to_fetches_that_stay_damaged_cause_no_haste,
                embedded_answers_about_topics_are_got_over,
                embedded_answers_about_offsets_are_got_over,
                embedded_answers_to_produced_records_leave_each_record_once,
            }
            budgets {
                embedded_the_broker_waits_as_long_as_it_is_allowed_to,
                embedded_the_broker_gathers_as_many_bytes_as_asked_for,
                embedded_no_more_is_asked_for_than_allowed,
            }
    }
}

/// What rskafka does in place of that, as docs/limits.md says.
mod limits {
    suite! { rskafka:
            rskafka_limits {
                a_null_header_stops_the_reading_after_what_is_before_it,
                an_unknown_compression_stops_the_reading_with_a_remedy,
                headers_that_cannot_be_written_are_named,
            }
            transactions {
                aborted_records_are_delivered_as_documented,
            }
            codecs {
                gzip_and_snappy_of_the_native_producer_are_read,
                gzip_and_snappy_of_java_are_read,
            }
            exact {
                the_producers_time_is_told_as_documented,
            }
    }
}
