package streamhouse.interop;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.CoreOptions.MergeEngine;
import org.apache.paimon.KeyValue;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.index.HashBucketAssigner;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.operation.MergeFileSplitRead;
import org.apache.paimon.postpone.BucketFiles;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.reader.RecordReaderIterator;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.PostponeUtils;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.RowPartitionAllPrimaryKeyExtractor;
import org.apache.paimon.table.sink.RowPartitionKeyExtractor;
import org.apache.paimon.table.sink.TableWriteImpl;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;

/** Which bucket a row goes to where it is no plain hash: what the engines' jobs do around the library's writer. */
final class Buckets {
    interface Sink {
        void accept(GenericRow row) throws Exception;
    }

    private Buckets() {}

    static Sink sink(FileStoreTable table, TableWriteImpl<?> write, String user) throws Exception {
        switch (table.bucketMode()) {
            case HASH_DYNAMIC:
                CoreOptions options = table.coreOptions();
                RowPartitionKeyExtractor keys = new RowPartitionKeyExtractor(table.schema());
                HashBucketAssigner assigner = new HashBucketAssigner(table.snapshotManager(), user, table.store().newIndexFileHandler(),
                        1, 1, 0, options.dynamicBucketTargetRowNum(), -1);
                return row -> write.write(row, assigner.assign(keys.partition(row).copy(), keys.trimmedPrimaryKey(row).hashCode()));
            case KEY_DYNAMIC:
                return new AcrossPartitions(table, write);
            default:
                return write::write;
        }
    }

    /** Moves a key that turns up in another partition, or keeps it where it was, as the merge engine wants. */
    private static final class AcrossPartitions implements Sink {
        private static final class Place {
            final BinaryRow partition;
            final int bucket;

            Place(BinaryRow partition, int bucket) {
                this.partition = partition;
                this.bucket = bucket;
            }
        }

        private final TableWriteImpl<?> write;
        private final RowPartitionAllPrimaryKeyExtractor keys;
        private final FileStoreTable table;
        private final Map<BinaryRow, Place> places = new HashMap<>();
        private final Map<BinaryRow, Integer> added = new HashMap<>();

        AcrossPartitions(FileStoreTable table, TableWriteImpl<?> write) throws Exception {
            this.table = table;
            this.write = write;
            keys = new RowPartitionAllPrimaryKeyExtractor(table.schema());
            for (Split split : table.newReadBuilder().newScan().plan().splits()) {
                int bucket = ((DataSplit) split).bucket();
                try (RecordReader<InternalRow> reader = table.newReadBuilder().newRead().createReader(split)) {
                    reader.forEachRemaining(row -> put(keys.trimmedPrimaryKey(row).copy(), keys.partition(row).copy(), bucket));
                }
            }
        }

        private Place put(BinaryRow key, BinaryRow partition, int bucket) {
            Place place = new Place(partition, bucket);
            places.put(key, place);
            added.merge(partition, 1, Integer::sum);
            return place;
        }

        private Place put(BinaryRow key, BinaryRow partition) {
            return put(key, partition, (int) (added.getOrDefault(partition, 0) / table.coreOptions().dynamicBucketTargetRowNum()));
        }

        @Override
        public void accept(GenericRow row) throws Exception {
            BinaryRow partition = keys.partition(row).copy();
            BinaryRow key = keys.trimmedPrimaryKey(row).copy();
            Place old = places.get(key);
            MergeEngine engine = table.coreOptions().mergeEngine();
            if (old == null || old.partition.equals(partition)) {
                write.write(row, (old == null ? put(key, partition) : old).bucket);
            } else if (engine == MergeEngine.DEDUPLICATE) {
                write.write(inPartition(row, old.partition, RowKind.DELETE), old.bucket);
                write.write(row, put(key, partition).bucket);
            } else if (engine != MergeEngine.FIRST_ROW) {
                write.write(inPartition(row, old.partition, row.getRowKind()), old.bucket);
            }
        }

        private GenericRow inPartition(GenericRow row, BinaryRow partition, RowKind kind) {
            GenericRow copy = new GenericRow(kind, row.getFieldCount());
            for (int i = 0; i < row.getFieldCount(); i++) {
                copy.setField(i, row.getField(i));
            }
            RowType type = table.schema().logicalPartitionType();
            for (int i = 0; i < type.getFieldCount(); i++) {
                copy.setField(table.rowType().getFieldIndex(type.getFieldNames().get(i)),
                        InternalRow.createFieldGetter(type.getTypeAt(i), i).getFieldOrNull(partition));
            }
            return copy;
        }
    }

    /** Moves the rows that wait in the postpone bucket into real ones. */
    static List<CommitMessage> distribute(FileStoreTable table, String user, IOManager io, int fresh) throws Exception {
        Map<BinaryRow, Integer> known = PostponeUtils.getKnownNumBuckets(table);
        Map<BinaryRow, List<DataFileMeta>> waiting = new LinkedHashMap<>();
        for (ManifestEntry entry : table.store().newScan().plan().files()) {
            if (entry.bucket() == BucketMode.POSTPONE_BUCKET) {
                waiting.computeIfAbsent(entry.partition(), p -> new ArrayList<>()).add(entry.file());
            }
        }
        List<CommitMessage> messages = new ArrayList<>();
        for (Map.Entry<BinaryRow, List<DataFileMeta>> place : waiting.entrySet()) {
            BinaryRow partition = place.getKey();
            int buckets = known.getOrDefault(partition, fresh);
            List<DataFileMeta> files = place.getValue();
            files.sort(Comparator.comparing(DataFileMeta::creationTimeEpochMillis).thenComparing(DataFileMeta::fileName));
            FileStoreTable real = table.copy(Map.of("bucket", String.valueOf(buckets)));
            try (TableWriteImpl<?> write = (TableWriteImpl<?>) real.newWrite(user).withIOManager(io)) {
                for (DataFileMeta file : files) {
                    rewrite(table, partition, file, write);
                }
                for (int bucket = 0; bucket < buckets; bucket++) {
                    write.compact(partition, bucket, true);
                }
                for (CommitMessage message : write.prepareCommit(true, 1)) {
                    CommitMessageImpl one = (CommitMessageImpl) message;
                    BucketFiles merged = new BucketFiles(
                            table.store().pathFactory().createDataFilePathFactory(one.partition(), one.bucket()), table.fileIO());
                    merged.update(one);
                    messages.add(merged.makeMessage(one.partition(), one.bucket()));
                }
            }
            messages.add(new CommitMessageImpl(partition, BucketMode.POSTPONE_BUCKET, buckets, DataIncrement.emptyIncrement(),
                    new CompactIncrement(files, List.of(), List.of())));
        }
        return messages;
    }

    private static void rewrite(FileStoreTable table, BinaryRow partition, DataFileMeta file, TableWriteImpl<?> write) throws Exception {
        MergeFileSplitRead read = (MergeFileSplitRead) table.store().newRead();
        try (RecordReader<KeyValue> reader = read.createNoMergeReader(partition, BucketMode.POSTPONE_BUCKET, List.of(file), null, false);
                RecordReaderIterator<KeyValue> it = new RecordReaderIterator<>(reader)) {
            while (it.hasNext()) {
                KeyValue kv = it.next();
                InternalRow row = kv.value();
                row.setRowKind(kv.valueKind());
                write.write(row);
            }
        }
    }
}
