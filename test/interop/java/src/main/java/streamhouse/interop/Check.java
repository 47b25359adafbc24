package streamhouse.interop;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.paimon.KeyValue;
import org.apache.paimon.KeyValueFileStore;
import org.apache.paimon.Snapshot;
import org.apache.paimon.codegen.CodeGenUtils;
import org.apache.paimon.codegen.RecordComparator;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.serializer.InternalRowSerializer;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.KeyValueFileReaderFactory;
import org.apache.paimon.manifest.FileKind;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.manifest.ManifestFileMeta;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.reader.RecordReaderIterator;
import org.apache.paimon.stats.SimpleStats;
import org.apache.paimon.stats.SimpleStatsEvolution;
import org.apache.paimon.stats.SimpleStatsEvolutions;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.FixedBucketRowKeyExtractor;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeRoot;
import org.apache.paimon.types.RowType;

/** Whether every snapshot of a table is what its metadata say, read through the library's own classes. */
final class Check {
    private final FileStoreTable table;
    private final ArrayNode faults = new ObjectMapper().createArrayNode();
    private final Set<String> filesSeen = new HashSet<>();

    Check(FileStoreTable table) {
        this.table = table;
    }

    ArrayNode run() throws Exception {
        Snapshot previous = null;
        List<Snapshot> snapshots = new ArrayList<>();
        table.snapshotManager().snapshots().forEachRemaining(snapshots::add);
        snapshots.sort(Comparator.comparingLong(Snapshot::id));
        for (Snapshot snapshot : snapshots) {
            snapshot(snapshot, previous);
            previous = snapshot;
        }
        return faults;
    }

    private void fault(String where, String what) {
        faults.add(where + ": " + what);
    }

    private void snapshot(Snapshot snapshot, Snapshot previous) throws Exception {
        String where = "snapshot " + snapshot.id();
        List<ManifestFileMeta> base = table.store().manifestListFactory().create().readDataManifests(snapshot);
        Map<Object, ManifestEntry> live = new LinkedHashMap<>();
        Set<Object> deleted = new HashSet<>();
        for (ManifestFileMeta manifest : base) {
            for (ManifestEntry entry : manifest(manifest, where)) {
                if (entry.kind() == FileKind.DELETE) {
                    deleted.add(entry.identifier());
                } else if (live.put(entry.identifier(), entry) != null) {
                    fault(where, "added twice: " + entry.file().fileName());
                }
            }
        }
        live.keySet().removeAll(deleted);
        long rows = 0;
        for (ManifestEntry entry : live.values()) {
            rows += entry.file().rowCount();
            file(entry, where);
        }
        if (rows != snapshot.totalRecordCount()) {
            fault(where, "total record count " + snapshot.totalRecordCount() + ", files have " + rows);
        }
        if (previous != null) {
            if (previous.id() + 1 != snapshot.id()) {
                fault(where, "follows snapshot " + previous.id());
            }
            if (previous.totalRecordCount() + snapshot.deltaRecordCount() != snapshot.totalRecordCount()) {
                fault(where, "delta record count " + snapshot.deltaRecordCount() + " does not lead from " + previous.totalRecordCount());
            }
            if (snapshot.timeMillis() < previous.timeMillis()) {
                fault(where, "is older than the one before");
            }
        }
        levels(live.values(), where);
    }

    private List<ManifestEntry> manifest(ManifestFileMeta meta, String where) {
        List<ManifestEntry> entries = table.store().manifestFileFactory().create().read(meta.fileName(), meta.fileSize());
        long added = entries.stream().filter(e -> e.kind() == FileKind.ADD).count();
        if (added != meta.numAddedFiles() || entries.size() - added != meta.numDeletedFiles()) {
            fault(where, meta.fileName() + " says " + meta.numAddedFiles() + " added, " + meta.numDeletedFiles() + " deleted");
        }
        return entries;
    }

    /** Files of one level above 0 may not overlap. */
    private void levels(Iterable<ManifestEntry> live, String where) {
        if (table.primaryKeys().isEmpty()) {
            return;
        }
        Comparator<InternalRow> order = ((KeyValueFileStore) table.store()).newKeyComparator();
        Map<Object, List<ManifestEntry>> runs = new HashMap<>();
        for (ManifestEntry entry : live) {
            if (entry.level() > 0) {
                runs.computeIfAbsent(List.of(entry.partition().copy(), entry.bucket(), entry.level()), k -> new ArrayList<>()).add(entry);
            }
        }
        for (List<ManifestEntry> run : runs.values()) {
            run.sort((a, b) -> order.compare(a.file().minKey(), b.file().minKey()));
            for (int i = 1; i < run.size(); i++) {
                if (order.compare(run.get(i - 1).file().maxKey(), run.get(i).file().minKey()) >= 0) {
                    fault(where, "overlapping on level " + run.get(i).level() + ": " + run.get(i).file().fileName());
                }
            }
        }
    }

    private void file(ManifestEntry entry, String where) throws Exception {
        DataFileMeta file = entry.file();
        if (!filesSeen.add(file.fileName())) {
            return;
        }
        String at = where + " file " + file.fileName();
        long size = table.fileIO().getFileSize(table.store().pathFactory()
                .createDataFilePathFactory(entry.partition(), entry.bucket()).toPath(file));
        if (size != file.fileSize()) {
            fault(at, "has " + size + " bytes, not " + file.fileSize());
        }
        if (table.primaryKeys().isEmpty()) {
            appendFile(entry, at);
        } else {
            keyFile(entry, at);
        }
    }

    private void appendFile(ManifestEntry entry, String at) throws Exception {
        DataFileMeta file = entry.file();
        DataSplit split = DataSplit.builder().withSnapshot(1).withPartition(entry.partition()).withBucket(entry.bucket())
                .withBucketPath(table.store().pathFactory().bucketPath(entry.partition(), entry.bucket()).toString())
                .withDataFiles(List.of(file)).rawConvertible(true).isStreaming(false).build();
        Columns columns = new Columns(table.rowType());
        InternalRowSerializer copy = new InternalRowSerializer(table.rowType());
        long rows = 0;
        ReadBuilder builder = table.newReadBuilder();
        try (RecordReader<InternalRow> reader = builder.newRead().createReader(split);
                RecordReaderIterator<InternalRow> it = new RecordReaderIterator<>(reader)) {
            while (it.hasNext()) {
                columns.add(copy.copy(it.next()));
                rows++;
            }
        }
        count(at, rows, file);
        columns.compare(file, at);
    }

    private void keyFile(ManifestEntry entry, String at) throws Exception {
        DataFileMeta file = entry.file();
        KeyValueFileStore store = (KeyValueFileStore) table.store();
        KeyValueFileReaderFactory factory = store.newReaderFactoryBuilder().build(entry.partition(), entry.bucket(), name -> java.util.Optional.empty());
        Comparator<InternalRow> order = store.newKeyComparator();
        Columns columns = new Columns(table.rowType());
        InternalRowSerializer copy = new InternalRowSerializer(table.rowType());
        FixedBucketRowKeyExtractor extractor = new FixedBucketRowKeyExtractor(table.schema());
        long rows = 0;
        long retracts = 0;
        long minSequence = Long.MAX_VALUE;
        long maxSequence = Long.MIN_VALUE;
        BinaryRow first = null;
        BinaryRow last = null;
        InternalRowSerializer keys = new InternalRowSerializer(table.schema().logicalTrimmedPrimaryKeysType());
        try (RecordReader<KeyValue> reader = factory.createRecordReader(file);
                RecordReaderIterator<KeyValue> it = new RecordReaderIterator<>(reader)) {
            while (it.hasNext()) {
                KeyValue kv = it.next();
                BinaryRow key = keys.toBinaryRow(kv.key()).copy();
                if (last != null && order.compare(last, key) >= 0) {
                    fault(at, "key out of order at row " + rows);
                }
                first = first == null ? key : first;
                last = key;
                retracts += kv.valueKind().isRetract() ? 1 : 0;
                minSequence = Math.min(minSequence, kv.sequenceNumber());
                maxSequence = Math.max(maxSequence, kv.sequenceNumber());
                InternalRow value = copy.copy(kv.value());
                extractor.setRecord(value);
                if (entry.totalBuckets() > 0 && (extractor.bucket() != entry.bucket() || !extractor.partition().equals(entry.partition()))) {
                    fault(at, "row " + rows + " belongs to bucket " + extractor.bucket() + " of " + extractor.partition());
                }
                columns.add(value);
                rows++;
            }
        }
        count(at, rows, file);
        if (retracts != file.deleteRowCount().orElse(-1L)) {
            fault(at, "has " + retracts + " retracts, not " + file.deleteRowCount());
        }
        if (minSequence != file.minSequenceNumber() || maxSequence != file.maxSequenceNumber()) {
            fault(at, "sequence numbers " + minSequence + ".." + maxSequence + ", not " + file.minSequenceNumber() + ".." + file.maxSequenceNumber());
        }
        if (!file.minKey().equals(first) || !file.maxKey().equals(last)) {
            fault(at, "smallest or largest key differs");
        }
        columns.compare(file, at);
    }

    private void count(String at, long rows, DataFileMeta file) {
        if (rows != file.rowCount()) {
            fault(at, "has " + rows + " rows, not " + file.rowCount());
        }
    }

    /** Extremes and null counts of a file's columns, to compare with its statistics. */
    private final class Columns {
        private final RowType type;
        private final RecordComparator[] order;
        private final InternalRow[] min;
        private final InternalRow[] max;
        private final long[] nulls;
        private long rows;

        Columns(RowType type) {
            this.type = type;
            int n = type.getFieldCount();
            order = new RecordComparator[n];
            for (int i = 0; i < n; i++) {
                order[i] = hasOrder(type.getTypeAt(i)) ? CodeGenUtils.newRecordComparator(type.getFieldTypes(), new int[] {i}, true) : null;
            }
            min = new InternalRow[n];
            max = new InternalRow[n];
            nulls = new long[n];
        }

        void add(InternalRow row) {
            rows++;
            for (int i = 0; i < nulls.length; i++) {
                if (row.isNullAt(i)) {
                    nulls[i]++;
                }
                if (row.isNullAt(i) || order[i] == null) {
                    continue;
                }
                min[i] = min[i] == null || order[i].compare(row, min[i]) < 0 ? row : min[i];
                max[i] = max[i] == null || order[i].compare(row, max[i]) > 0 ? row : max[i];
            }
        }

        void compare(DataFileMeta file, String at) {
            SimpleStatsEvolutions evolutions = new SimpleStatsEvolutions(id -> table.schemaManager().schema(id).fields(), table.schema().id());
            SimpleStatsEvolution evolution = evolutions.getOrCreate(file.schemaId());
            SimpleStatsEvolution.Result stats = evolution.evolution(file.valueStats(), file.rowCount(), file.valueStatsCols());
            for (int i = 0; i < nulls.length; i++) {
                String column = at + " column " + type.getFields().get(i).name();
                if (!stats.nullCounts().isNullAt(i) && stats.nullCounts().getLong(i) != nulls[i]) {
                    fault(column, "null count " + stats.nullCounts().getLong(i) + ", not " + nulls[i]);
                }
                bounds(stats, i, column);
            }
        }

        private void bounds(SimpleStatsEvolution.Result stats, int i, String column) {
            boolean without = stats.minValues().isNullAt(i) || stats.maxValues().isNullAt(i);
            if (min[i] == null) {
                if (!stats.minValues().isNullAt(i) && (nulls[i] == rows || order[i] == null)) {
                    fault(column, order[i] == null ? "bounds of values without an order" : "a lower bound, but only nulls");
                }
                return;
            }
            if (without) {
                return;
            }
            if (order[i].compare(stats.minValues(), min[i]) > 0 || order[i].compare(stats.maxValues(), max[i]) < 0) {
                fault(column, "bounds do not hold the values");
            }
            if (!isText(type.getTypeAt(i)) && (order[i].compare(stats.minValues(), min[i]) != 0 || order[i].compare(stats.maxValues(), max[i]) != 0)) {
                fault(column, "bounds are not exact");
            }
        }

        private boolean hasOrder(DataType t) {
            return !t.is(DataTypeRoot.VARIANT) && !t.is(DataTypeRoot.ARRAY) && !t.is(DataTypeRoot.MAP) && !t.is(DataTypeRoot.MULTISET)
                    && !t.is(DataTypeRoot.ROW);
        }

        private boolean isText(DataType t) {
            return t.is(DataTypeRoot.CHAR) || t.is(DataTypeRoot.VARCHAR);
        }
    }
}
