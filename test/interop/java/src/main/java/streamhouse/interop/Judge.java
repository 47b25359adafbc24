package streamhouse.interop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.fs.Path;
import org.apache.paimon.options.CatalogOptions;
import org.apache.paimon.options.Options;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.reader.RecordReaderIterator;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.StreamTableCommit;
import org.apache.paimon.table.sink.StreamTableWrite;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeJsonParser;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;

/**
 * Answers requests from standard input, a JSON object a line, with one JSON object a line:
 * {"ok": ...} or {"error": ...}. The interoperability tests keep one process for all of them.
 */
public final class Judge {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                answer.set("ok", answer(JSON.readTree(line)));
            } catch (Throwable t) {
                answer.removeAll();
                Throwable cause = t;
                while (cause.getCause() != null) {
                    cause = cause.getCause();
                }
                answer.put("error", t + (cause == t ? "" : " <- " + cause));
            }
            out.println(JSON.writeValueAsString(answer));
        }
    }

    private static JsonNode answer(JsonNode request) throws Exception {
        Catalog catalog = catalog(request.get("warehouse").asText());
        Identifier id = Identifier.fromString(request.get("table").asText());
        switch (request.get("do").asText()) {
            case "create":
                return create(catalog, id, request);
            case "write":
                return write(table(catalog, id, request), request);
            case "compact":
                return compact(table(catalog, id, request));
            case "dump":
                return dump(table(catalog, id, request));
            case "check":
                return new Check(table(catalog, id, request)).run();
            default:
                throw new IllegalArgumentException("unknown request " + request);
        }
    }

    private static Catalog catalog(String warehouse) {
        Options options = new Options();
        options.set(CatalogOptions.WAREHOUSE, new Path(new File(warehouse).toURI().toString()).toString());
        options.set("cache-enabled", "false");
        return CatalogFactory.createCatalog(CatalogContext.create(options));
    }

    private static FileStoreTable table(Catalog catalog, Identifier id, JsonNode request) throws Exception {
        FileStoreTable table = (FileStoreTable) catalog.getTable(id);
        java.util.Map<String, String> options = new java.util.HashMap<>();
        if (request.has("options")) {
            request.get("options").fields().forEachRemaining(e -> options.put(e.getKey(), e.getValue().asText()));
        }
        return options.isEmpty() ? table : table.copy(options);
    }

    private static JsonNode create(Catalog catalog, Identifier id, JsonNode request) throws Exception {
        Schema.Builder schema = Schema.newBuilder();
        for (JsonNode field : request.get("fields")) {
            schema.column(field.get(0).asText(), type(field.get(1)));
        }
        schema.primaryKey(strings(request.get("primary_key")));
        schema.partitionKeys(strings(request.get("partition")));
        request.get("table_options").fields().forEachRemaining(e -> schema.option(e.getKey(), e.getValue().asText()));
        catalog.createDatabase(id.getDatabaseName(), true);
        catalog.createTable(id, schema.build(), false);
        return JSON.nullNode();
    }

    /** The text of an atomic type, or the object of a nested one as schema files have it, without ids of fields. */
    private static DataType type(JsonNode node) throws Exception {
        return DataTypeJsonParser.parseDataType(
                org.apache.paimon.utils.JsonSerdeUtil.OBJECT_MAPPER_INSTANCE.readTree(JSON.writeValueAsString(node)), new AtomicInteger(-1));
    }

    private static List<String> strings(JsonNode array) {
        List<String> list = new ArrayList<>();
        array.forEach(n -> list.add(n.asText()));
        return list;
    }

    /** Rows are arrays: the kind, then a value a column. One commit. */
    private static JsonNode write(FileStoreTable table, JsonNode request) throws Exception {
        String user = UUID.randomUUID().toString();
        RowType type = table.rowType();
        try (StreamTableWrite write = table.newStreamWriteBuilder().withCommitUser(user).newWrite();
                StreamTableCommit commit = table.newStreamWriteBuilder().withCommitUser(user).newCommit()) {
            write.withIOManager(IOManager.create(System.getProperty("java.io.tmpdir")));
            for (JsonNode row : request.get("rows")) {
                GenericRow generic = new GenericRow(kind(row.get(0).asText()), type.getFieldCount());
                for (int i = 0; i < type.getFieldCount(); i++) {
                    generic.setField(i, Values.parse(row.get(i + 1), type.getTypeAt(i)));
                }
                write.write(generic);
            }
            List<CommitMessage> messages = write.prepareCommit(true, 1);
            commit.commit(1, messages);
        }
        return JSON.nullNode();
    }

    private static RowKind kind(String text) {
        return RowKind.fromShortString(text);
    }

    private static JsonNode compact(FileStoreTable table) throws Exception {
        String user = UUID.randomUUID().toString();
        try (StreamTableWrite write = table.newStreamWriteBuilder().withCommitUser(user).newWrite();
                StreamTableCommit commit = table.newStreamWriteBuilder().withCommitUser(user).newCommit()) {
            write.withIOManager(IOManager.create(System.getProperty("java.io.tmpdir")));
            for (org.apache.paimon.manifest.BucketEntry b : table.newSnapshotReader().bucketEntries()) {
                write.compact(b.partition(), b.bucket(), true);
            }
            commit.commit(1, write.prepareCommit(true, 1));
        }
        return JSON.nullNode();
    }

    private static JsonNode dump(FileStoreTable table) throws Exception {
        ArrayNode rows = JSON.createArrayNode();
        ReadBuilder builder = table.newReadBuilder();
        List<DataField> fields = table.rowType().getFields();
        try (RecordReader<InternalRow> reader = builder.newRead().createReader(builder.newScan().plan());
                RecordReaderIterator<InternalRow> it = new RecordReaderIterator<>(reader)) {
            while (it.hasNext()) {
                InternalRow row = it.next();
                ArrayNode out = rows.addArray();
                for (int i = 0; i < fields.size(); i++) {
                    out.add(Values.text(InternalRow.createFieldGetter(fields.get(i).type(), i).getFieldOrNull(row), fields.get(i).type()));
                }
            }
        }
        return rows;
    }

    static String describe(BinaryRow row, RowType type) {
        StringBuilder text = new StringBuilder("(");
        for (int i = 0; i < type.getFieldCount(); i++) {
            text.append(i == 0 ? "" : ", ").append(
                    Values.text(InternalRow.createFieldGetter(type.getTypeAt(i), i).getFieldOrNull(row), type.getTypeAt(i)));
        }
        return text.append(")").toString();
    }
}
