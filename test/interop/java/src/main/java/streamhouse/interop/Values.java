package streamhouse.interop;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.math.BigDecimal;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.format.DateTimeFormatter;
import java.time.ZoneOffset;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Blob;
import org.apache.paimon.data.BlobData;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericArray;
import org.apache.paimon.data.GenericMap;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalArray;
import org.apache.paimon.data.InternalMap;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.data.variant.GenericVariant;
import org.apache.paimon.data.variant.Variant;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypes;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.MultisetType;
import org.apache.paimon.types.RowType;

/**
 * Values as text, both ways: one plain form for each type. That of nested values is JSON: an array of elements, of
 * [key, value] pairs, or of a row's fields; the values in it have their plain forms.
 */
final class Values {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final DateTimeFormatter STAMP = DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSSSSSSSS");

    private Values() {}

    static String text(Object value, DataType type) {
        if (value == null) {
            return null;
        }
        switch (type.getTypeRoot()) {
            case BINARY:
            case VARBINARY:
                return HexFormat.of().formatHex((byte[]) value);
            case BLOB:
                return HexFormat.of().formatHex(((Blob) value).toData());
            case DECIMAL:
                return ((Decimal) value).toBigDecimal().toPlainString();
            case DATE:
                return LocalDate.ofEpochDay((Integer) value).toString();
            case TIME_WITHOUT_TIME_ZONE:
                return LocalTime.ofNanoOfDay((Integer) value * 1_000_000L).format(DateTimeFormatter.ofPattern("HH:mm:ss.SSS"));
            case TIMESTAMP_WITHOUT_TIME_ZONE:
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
                return STAMP.format(((Timestamp) value).toLocalDateTime());
            case ARRAY:
            case MAP:
            case MULTISET:
            case ROW:
            case VARIANT:
                return node(value, type).toString();
            default:
                return value.toString();
        }
    }

    private static JsonNode node(Object value, DataType type) {
        if (value == null) {
            return JSON.nullNode();
        }
        switch (type.getTypeRoot()) {
            case ARRAY:
                return array((InternalArray) value, ((ArrayType) type).getElementType());
            case MAP:
                return pairs((InternalMap) value, ((MapType) type).getKeyType(), ((MapType) type).getValueType());
            case MULTISET:
                return pairs((InternalMap) value, ((MultisetType) type).getElementType(), DataTypes.INT());
            case ROW:
                return row((InternalRow) value, (RowType) type);
            case VARIANT:
                try {
                    return JSON.readTree(((Variant) value).toJson(ZoneOffset.UTC));
                } catch (JsonProcessingException e) {
                    throw new IllegalStateException(e);
                }
            default:
                return JSON.getNodeFactory().textNode(text(value, type));
        }
    }

    private static ArrayNode array(InternalArray array, DataType type) {
        ArrayNode out = JSON.createArrayNode();
        InternalArray.ElementGetter getter = InternalArray.createElementGetter(type);
        for (int i = 0; i < array.size(); i++) {
            out.add(node(getter.getElementOrNull(array, i), type));
        }
        return out;
    }

    private static ArrayNode pairs(InternalMap map, DataType key, DataType value) {
        ArrayNode out = JSON.createArrayNode();
        ArrayNode keys = array(map.keyArray(), key);
        ArrayNode values = array(map.valueArray(), value);
        for (int i = 0; i < map.size(); i++) {
            out.addArray().add(keys.get(i)).add(values.get(i));
        }
        return out;
    }

    private static ArrayNode row(InternalRow row, RowType type) {
        ArrayNode out = JSON.createArrayNode();
        for (int i = 0; i < type.getFieldCount(); i++) {
            out.add(node(InternalRow.createFieldGetter(type.getTypeAt(i), i).getFieldOrNull(row), type.getTypeAt(i)));
        }
        return out;
    }

    static Object parse(JsonNode node, DataType type) {
        if (node == null || node.isNull()) {
            return null;
        }
        String text = node.asText();
        switch (type.getTypeRoot()) {
            case BOOLEAN:
                return Boolean.parseBoolean(text);
            case TINYINT:
                return Byte.parseByte(text);
            case SMALLINT:
                return Short.parseShort(text);
            case INTEGER:
                return Integer.parseInt(text);
            case BIGINT:
                return Long.parseLong(text);
            case FLOAT:
                return Float.parseFloat(text);
            case DOUBLE:
                return Double.parseDouble(text);
            case CHAR:
            case VARCHAR:
                return BinaryString.fromString(text);
            case BINARY:
            case VARBINARY:
                return HexFormat.of().parseHex(text);
            case BLOB:
                return new BlobData(HexFormat.of().parseHex(text));
            case DECIMAL:
                return Decimal.fromBigDecimal(new BigDecimal(text), ((DecimalType) type).getPrecision(), ((DecimalType) type).getScale());
            case DATE:
                return (int) LocalDate.parse(text).toEpochDay();
            case TIME_WITHOUT_TIME_ZONE:
                return (int) (LocalTime.parse(text).toNanoOfDay() / 1_000_000L);
            case TIMESTAMP_WITHOUT_TIME_ZONE:
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
                return Timestamp.fromLocalDateTime(LocalDateTime.parse(text));
            case ARRAY:
                return parseArray(node, ((ArrayType) type).getElementType());
            case MAP:
                return parsePairs(node, ((MapType) type).getKeyType(), ((MapType) type).getValueType());
            case MULTISET:
                return parsePairs(node, ((MultisetType) type).getElementType(), DataTypes.INT());
            case ROW:
                return parseRow(node, (RowType) type);
            case VARIANT:
                return GenericVariant.fromJson(text);
            default:
                throw new IllegalArgumentException("no test values of type " + type);
        }
    }

    private static GenericArray parseArray(JsonNode node, DataType type) {
        Object[] elements = new Object[node.size()];
        for (int i = 0; i < elements.length; i++) {
            elements[i] = parse(node.get(i), type);
        }
        return new GenericArray(elements);
    }

    private static GenericMap parsePairs(JsonNode node, DataType key, DataType value) {
        Map<Object, Object> map = new LinkedHashMap<>();
        for (JsonNode pair : node) {
            map.put(parse(pair.get(0), key), parse(pair.get(1), value));
        }
        return new GenericMap(map);
    }

    private static GenericRow parseRow(JsonNode node, RowType type) {
        GenericRow row = new GenericRow(type.getFieldCount());
        for (int i = 0; i < type.getFieldCount(); i++) {
            row.setField(i, parse(node.get(i), type.getTypeAt(i)));
        }
        return row;
    }
}
