package streamhouse.interop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import org.apache.paimon.Snapshot;
import org.apache.paimon.append.AppendCompactCoordinator;
import org.apache.paimon.append.AppendCompactTask;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.deletionvectors.Bitmap64DeletionVector;
import org.apache.paimon.deletionvectors.BitmapDeletionVector;
import org.apache.paimon.deletionvectors.DeletionVector;
import org.apache.paimon.deletionvectors.append.BaseAppendDeleteFileMaintainer;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.index.IndexFileHandler;
import org.apache.paimon.index.IndexFileMeta;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.manifest.BucketEntry;
import org.apache.paimon.manifest.FileKind;
import org.apache.paimon.manifest.IndexManifestEntry;
import org.apache.paimon.manifest.ManifestCommittable;
import org.apache.paimon.operation.BaseAppendFileStoreWrite;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.stats.ColStats;
import org.apache.paimon.stats.Statistics;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.SpecialFields;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.table.sink.TableWriteImpl;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;

/** The requests that commit data. */
final class Writing {
    private static final long IDENTIFIER = 1;

    private Writing() {}

    static IOManager ioManager() {
        return IOManager.create(System.getProperty("java.io.tmpdir"));
    }

    /**
     * Rows are arrays: the kind, then a value a column. One commit. "columns" are those that rows have, if not all;
     * "first_row_id" makes them columns of rows that are there; "overwrite" names the partition to replace.
     */
    static JsonNode write(FileStoreTable table, JsonNode request) throws Exception {
        String user = UUID.randomUUID().toString();
        RowType type = request.has("columns") ? table.rowType().project(Judge.strings(request.get("columns"))) : table.rowType();
        boolean overwrite = request.has("overwrite");
        try (IOManager io = ioManager();
                TableWriteImpl<?> write = (TableWriteImpl<?>) table.newWrite(user).withIOManager(io);
                TableCommitImpl commit = table.newCommit(user)) {
            if (request.has("columns")) {
                write.withWriteType(type);
            }
            if (overwrite) {
                Map<String, String> partition = new HashMap<>();
                request.get("overwrite").fields().forEachRemaining(e -> partition.put(e.getKey(), e.getValue().asText()));
                write.withIgnorePreviousFiles(true);
                commit.withOverwrite(partition);
            }
            Buckets.Sink sink = Buckets.sink(table, write, user);
            for (JsonNode row : request.get("rows")) {
                GenericRow generic = new GenericRow(RowKind.fromShortString(row.get(0).asText()), type.getFieldCount());
                for (int i = 0; i < type.getFieldCount(); i++) {
                    generic.setField(i, Values.parse(row.get(i + 1), type.getTypeAt(i)));
                }
                sink.accept(generic);
            }
            List<CommitMessage> messages = write.prepareCommit(true, IDENTIFIER);
            if (request.has("first_row_id")) {
                messages = withRowIds(messages, request.get("first_row_id").asLong());
            }
            commit(commit, messages, request.has("watermark") ? request.get("watermark").asLong() : null);
        }
        return NullNode.getInstance();
    }

    private static void commit(TableCommitImpl commit, List<CommitMessage> messages, Long watermark) {
        ManifestCommittable committable = new ManifestCommittable(IDENTIFIER, watermark);
        messages.forEach(committable::addFileCommittable);
        commit.ignoreEmptyCommit(false);
        commit.commit(committable);
    }

    private static List<CommitMessage> withRowIds(List<CommitMessage> messages, long first) {
        List<CommitMessage> result = new ArrayList<>();
        for (CommitMessage message : messages) {
            CommitMessageImpl one = (CommitMessageImpl) message;
            List<DataFileMeta> files = new ArrayList<>();
            long next = first;
            for (DataFileMeta file : one.newFilesIncrement().newFiles()) {
                files.add(file.assignFirstRowId(next));
                next += file.rowCount();
            }
            result.add(new CommitMessageImpl(one.partition(), one.bucket(), one.totalBuckets(),
                    new DataIncrement(files, List.of(), List.of()), one.compactIncrement()));
        }
        return result;
    }

    /** A full compaction of everything; "buckets" are those that waiting rows get if their partition has none yet. */
    static JsonNode compact(FileStoreTable given, JsonNode request) throws Exception {
        FileStoreTable table = given.copy(Map.of("write-only", "false"));
        String user = UUID.randomUUID().toString();
        List<CommitMessage> messages = new ArrayList<>();
        try (IOManager io = ioManager();
                TableWriteImpl<?> write = (TableWriteImpl<?>) table.newWrite(user).withIOManager(io);
                TableCommitImpl commit = table.newCommit(user)) {
            if (table.bucketMode() == BucketMode.POSTPONE_MODE) {
                messages = Buckets.distribute(table, user, io, request.has("buckets") ? request.get("buckets").asInt() : 2);
            } else if (table.bucketMode() == BucketMode.BUCKET_UNAWARE) {
                if (table.coreOptions().rowTrackingEnabled()) {
                    write.withWriteType(SpecialFields.rowTypeWithRowTracking(table.rowType()));
                }
                for (AppendCompactTask task : new AppendCompactCoordinator(table, false).run()) {
                    messages.add(task.doCompact(table, (BaseAppendFileStoreWrite) write.getWrite()));
                }
            } else {
                for (BucketEntry bucket : table.newSnapshotReader().bucketEntries()) {
                    write.compact(bucket.partition(), bucket.bucket(), true);
                }
                messages = write.prepareCommit(true, IDENTIFIER);
            }
            commit(commit, messages, null);
        }
        return NullNode.getInstance();
    }

    /** Deletes rows of an append table by deletion vectors: those whose column has one of the values. */
    static JsonNode delete(FileStoreTable table, JsonNode request) throws Exception {
        int column = table.rowType().getFieldIndex(request.get("column").asText());
        List<String> values = Judge.strings(request.get("values"));
        Snapshot snapshot = table.snapshotManager().latestSnapshot();
        Map<BinaryRow, Map<Integer, BaseAppendDeleteFileMaintainer>> maintainers = new LinkedHashMap<>();
        for (Split split : table.newReadBuilder().newScan().plan().splits()) {
            DataSplit data = (DataSplit) split;
            for (DataFileMeta file : data.dataFiles()) {
                DeletionVector vector = matching(table, data, file, column, values);
                if (!vector.isEmpty()) {
                    maintainers.computeIfAbsent(data.partition(), p -> new LinkedHashMap<>())
                            .computeIfAbsent(data.bucket(), b -> maintainer(table, snapshot, data.partition(), b))
                            .notifyNewDeletionVector(file.fileName(), vector);
                }
            }
        }
        List<CommitMessage> messages = new ArrayList<>();
        maintainers.forEach((partition, buckets) -> buckets.forEach((bucket, maintainer) -> {
            List<IndexFileMeta> added = new ArrayList<>();
            List<IndexFileMeta> removed = new ArrayList<>();
            for (IndexManifestEntry entry : maintainer.persist()) {
                (entry.kind() == FileKind.ADD ? added : removed).add(entry.indexFile());
            }
            messages.add(new CommitMessageImpl(partition, bucket, table.coreOptions().bucket(),
                    new DataIncrement(List.of(), List.of(), List.of(), added, removed), CompactIncrement.emptyIncrement()));
        }));
        try (TableCommitImpl commit = table.newCommit(UUID.randomUUID().toString())) {
            commit(commit, messages, null);
        }
        return NullNode.getInstance();
    }

    private static BaseAppendDeleteFileMaintainer maintainer(FileStoreTable table, Snapshot snapshot, BinaryRow partition, int bucket) {
        IndexFileHandler handler = table.store().newIndexFileHandler();
        return table.bucketMode() == BucketMode.BUCKET_UNAWARE
                ? BaseAppendDeleteFileMaintainer.forUnawareAppend(handler, snapshot, partition)
                : BaseAppendDeleteFileMaintainer.forBucketedAppend(handler, snapshot, partition, bucket);
    }

    /** Positions in one file, those already deleted left out. */
    private static DeletionVector matching(FileStoreTable table, DataSplit split, DataFileMeta file, int column, List<String> values)
            throws Exception {
        DataSplit one = DataSplit.builder().withSnapshot(split.snapshotId()).withPartition(split.partition()).withBucket(split.bucket())
                .withBucketPath(split.bucketPath()).withTotalBuckets(split.totalBuckets()).withDataFiles(List.of(file)).rawConvertible(true).build();
        DeletionVector vector = table.coreOptions().deletionVectorBitmap64() ? new Bitmap64DeletionVector() : new BitmapDeletionVector();
        DataField field = table.rowType().getFields().get(column);
        InternalRow.FieldGetter getter = InternalRow.createFieldGetter(field.type(), column);
        try (RecordReader<InternalRow> reader = table.newReadBuilder().newRead().createReader(one)) {
            reader.forEachRemainingWithPosition((position, row) -> {
                if (values.contains(Values.text(getter.getFieldOrNull(row), field.type()))) {
                    vector.delete(position);
                }
            });
        }
        return vector;
    }

    /** Statistics of the columns whose values have an order, as ANALYZE of the engines writes them. */
    static JsonNode analyze(FileStoreTable table) throws Exception {
        Snapshot snapshot = table.snapshotManager().latestSnapshot();
        List<DataField> fields = table.rowType().getFields();
        List<TreeSet<Object>> values = new ArrayList<>();
        fields.forEach(f -> values.add(new TreeSet<>()));
        long[] nulls = new long[fields.size()];
        long[] rows = {0};
        try (RecordReader<InternalRow> reader = table.newReadBuilder().newRead().createReader(table.newReadBuilder().newScan().plan())) {
            reader.forEachRemaining(row -> {
                rows[0]++;
                for (int i = 0; i < nulls.length; i++) {
                    Object value = InternalRow.createFieldGetter(fields.get(i).type(), i).getFieldOrNull(row);
                    nulls[i] += value == null ? 1 : 0;
                    if (value instanceof Comparable) {
                        values.get(i).add(value instanceof BinaryString ? ((BinaryString) value).copy() : value);
                    }
                }
            });
        }
        Map<String, ColStats<?>> columns = new TreeMap<>();
        for (int i = 0; i < nulls.length; i++) {
            if (!values.get(i).isEmpty()) {
                columns.put(fields.get(i).name(), statistics(fields.get(i), values.get(i), nulls[i]));
            }
        }
        long size = table.store().newScan().plan().files().stream().mapToLong(e -> e.file().fileSize()).sum();
        try (TableCommitImpl commit = table.newCommit(UUID.randomUUID().toString())) {
            commit.updateStatistics(new Statistics(snapshot.id(), snapshot.schemaId(), rows[0], size, columns));
        }
        return NullNode.getInstance();
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static ColStats<?> statistics(DataField field, TreeSet<Object> values, long nulls) {
        return ColStats.newColStats(field.id(), (long) values.size(), (Comparable) values.first(), (Comparable) values.last(), nulls, null, null);
    }
}
