package streamhouse.interop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.consumer.Consumer;
import org.apache.paimon.consumer.ConsumerManager;
import org.apache.paimon.options.ExpireConfig;
import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.table.FileStoreTable;

/** The requests that change a schema, or what is kept and named of a table's history. */
final class Definitions {
    private Definitions() {}

    /** Each change is an array: what, then the column (fields of nested ones behind dots) or option, then the rest. One commit. */
    static JsonNode alter(Catalog catalog, Identifier id, JsonNode changes) throws Exception {
        List<SchemaChange> list = new ArrayList<>();
        for (JsonNode change : changes) {
            list.add(change(change.get(0).asText(), change.get(1).asText(), change.get(2)));
        }
        catalog.alterTable(id, list, false);
        return NullNode.getInstance();
    }

    private static SchemaChange change(String what, String name, JsonNode more) throws Exception {
        String[] path = name.split("\\.");
        switch (what) {
            case "add":
                return SchemaChange.addColumn(path, Judge.type(more), null, null);
            case "drop":
                return SchemaChange.dropColumn(path);
            case "rename":
                return SchemaChange.renameColumn(path, more.asText());
            case "retype":
                return SchemaChange.updateColumnType(path, Judge.type(more), true);
            case "nullable":
                return SchemaChange.updateColumnNullability(path, true);
            case "first":
                return SchemaChange.updateColumnPosition(SchemaChange.Move.first(name));
            case "after":
                return SchemaChange.updateColumnPosition(SchemaChange.Move.after(name, more.asText()));
            case "set":
                return SchemaChange.setOption(name, more.asText());
            default:
                throw new IllegalArgumentException("unknown change " + what);
        }
    }

    static JsonNode change(FileStoreTable table, JsonNode request) {
        String name = request.path("name").asText();
        switch (request.get("do").asText()) {
            case "tag":
                table.createTag(name, request.get("snapshot").asLong());
                break;
            case "branch":
                if (request.has("tag")) {
                    table.createBranch(name, request.get("tag").asText());
                } else {
                    table.createBranch(name);
                }
                break;
            case "fast_forward":
                table.fastForward(name);
                break;
            case "rollback":
                table.rollbackTo(request.get("snapshot").asLong());
                break;
            case "consumer":
                new ConsumerManager(table.fileIO(), table.location()).resetConsumer(name, new Consumer(request.get("snapshot").asLong()));
                break;
            default:
                table.newExpireSnapshots().config(ExpireConfig.builder().snapshotRetainMax(request.get("keep").asInt()).snapshotRetainMin(1)
                        .snapshotTimeRetain(Duration.ofDays(9999)).build()).expire();
        }
        return NullNode.getInstance();
    }
}
