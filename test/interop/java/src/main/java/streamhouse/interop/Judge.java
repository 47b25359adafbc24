package streamhouse.interop;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectWriter;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.fs.Path;
import org.apache.paimon.options.CatalogOptions;
import org.apache.paimon.options.Options;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.reader.RecordReaderIterator;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeJsonParser;
import org.apache.paimon.types.RowType;
import org.apache.paimon.utils.JsonSerdeUtil;

/**
 * Answers requests from standard input, a JSON object a line, with one JSON object a line:
 * {"ok": ...} or {"error": ...}. The interoperability tests keep one process for all of them.
 */
public final class Judge {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final ObjectWriter ANSWERS = JSON.writer().without(JsonGenerator.Feature.AUTO_CLOSE_TARGET);

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
            // not as one string: a table's rows may be more than fit into memory twice
            ANSWERS.writeValue(out, answer);
            out.println();
        }
    }

    private static JsonNode answer(JsonNode request) throws Exception {
        Catalog catalog = catalog(request.get("warehouse").asText());
        Identifier id = Identifier.fromString(request.get("table").asText());
        switch (request.get("do").asText()) {
            case "create":
                return create(catalog, id, request);
            case "drop":
                catalog.dropTable(id, false);
                return JSON.nullNode();
            case "alter":
                return Definitions.alter(catalog, id, request.get("changes"));
            case "tag":
            case "branch":
            case "fast_forward":
            case "rollback":
            case "consumer":
            case "expire":
                return Definitions.change((FileStoreTable) table(catalog, id, request), request);
            case "write":
                return Writing.write((FileStoreTable) table(catalog, id, request), request);
            case "delete":
                return Writing.delete((FileStoreTable) table(catalog, id, request), request);
            case "compact":
                return Writing.compact((FileStoreTable) table(catalog, id, request), request);
            case "analyze":
                return Writing.analyze((FileStoreTable) table(catalog, id, request));
            case "columns":
                return columns(table(catalog, id, request));
            case "plan":
                return plan((FileStoreTable) table(catalog, id, request), request.get("where"));
            case "dump":
                return dump(table(catalog, id, request), request);
            case "check":
                return new Check((FileStoreTable) table(catalog, id, request)).run();
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

    private static Table table(Catalog catalog, Identifier id, JsonNode request) throws Exception {
        Table table = catalog.getTable(id);
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
    static DataType type(JsonNode node) throws Exception {
        return DataTypeJsonParser.parseDataType(
                JsonSerdeUtil.OBJECT_MAPPER_INSTANCE.readTree(JSON.writeValueAsString(node)), new AtomicInteger(-1));
    }

    static List<String> strings(JsonNode array) {
        List<String> list = new ArrayList<>();
        array.forEach(n -> list.add(n.asText()));
        return list;
    }

    /** Names and types, these as schema files have them. */
    private static JsonNode columns(Table table) throws Exception {
        ArrayNode list = JSON.createArrayNode();
        for (DataField field : table.rowType().getFields()) {
            list.addArray().add(field.name()).add(JSON.readTree(JsonSerdeUtil.toFlatJson(field.type())));
        }
        return list;
    }

    /** The number of data files that Java reads for columns that have one of the given values each. */
    private static JsonNode plan(FileStoreTable table, JsonNode where) {
        PredicateBuilder builder = new PredicateBuilder(table.rowType());
        List<Predicate> conditions = new ArrayList<>();
        where.fields().forEachRemaining(e -> {
            int column = builder.indexOf(e.getKey());
            List<Object> values = new ArrayList<>();
            e.getValue().forEach(v -> values.add(Values.parse(v, table.rowType().getTypeAt(column))));
            conditions.add(builder.in(column, values));
        });
        int files = 0;
        for (Split split : table.newReadBuilder().withFilter(PredicateBuilder.and(conditions)).newScan().plan().splits()) {
            files += ((DataSplit) split).dataFiles().size();
        }
        return JSON.getNodeFactory().numberNode(files);
    }

    /** All rows, of all columns or of "columns". */
    private static JsonNode dump(Table table, JsonNode request) throws Exception {
        ArrayNode rows = JSON.createArrayNode();
        ReadBuilder builder = table.newReadBuilder();
        if (request.has("columns")) {
            builder.withProjection(table.rowType().getFieldIndices(strings(request.get("columns"))));
        }
        List<DataField> fields = builder.readType().getFields();
        try (IOManager io = Writing.ioManager();
                RecordReader<InternalRow> reader = builder.newRead().withIOManager(io).createReader(builder.newScan().plan());
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
