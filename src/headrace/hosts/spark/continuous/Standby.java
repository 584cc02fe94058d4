package headrace;

import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;
import org.apache.spark.sql.execution.streaming.runtime.ContinuousRecordPartitionOffset;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A real-time source that gives nothing and stands by: it keeps the Python tasks of stage 0
 * running, which read the real sources themselves.
 *
 * <p>Compiled by Janino (jvm.py), which knows no generics, lambdas or annotations.
 */
public class Standby implements TableProvider, SupportsRead {
  static StructType rows() {
    return new StructType().add("task", DataTypes.IntegerType);
  }

  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return rows();
  }

  public Table getTable(StructType schema, Transform[] partitioning, Map properties) {
    return this;
  }

  public String name() {
    return "headrace standby";
  }

  public StructType schema() {
    return rows();
  }

  public Set capabilities() {
    return EnumSet.of(TableCapability.MICRO_BATCH_READ);
  }

  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return new Plan(options.getInt("tasks", 1));
  }

  public static class Plan implements ScanBuilder, Scan {
    int tasks;

    public Plan(int tasks) {
      this.tasks = tasks;
    }

    public Scan build() {
      return this;
    }

    public StructType readSchema() {
      return rows();
    }

    public MicroBatchStream toMicroBatchStream(String checkpoint) {
      return new Stream(tasks);
    }
  }

  /** There is nothing to remember: positions are headrace's. */
  public static class Nowhere extends Offset {
    public String json() {
      return "0";
    }
  }

  public static class Seat implements InputPartition {
    int task;

    public Seat(int task) {
      this.task = task;
    }
  }

  public static class Stream implements MicroBatchStream, SupportsRealTimeMode {
    int tasks;

    public Stream(int tasks) {
      this.tasks = tasks;
    }

    public Offset latestOffset() {
      return new Nowhere();
    }

    public Offset initialOffset() {
      return new Nowhere();
    }

    public Offset deserializeOffset(String json) {
      return new Nowhere();
    }

    public Offset mergeOffsets(PartitionOffset[] offsets) {
      return new Nowhere();
    }

    public void commit(Offset end) {}

    public void stop() {}

    public InputPartition[] planInputPartitions(Offset start, Offset end) {
      return new InputPartition[0];
    }

    public InputPartition[] planInputPartitions(Offset start) {
      InputPartition[] seats = new InputPartition[tasks];
      for (int task = 0; task < tasks; task++) {
        seats[task] = new Seat(task);
      }
      return seats;
    }

    public PartitionReaderFactory createReaderFactory() {
      return new Factory();
    }
  }

  public static class Factory implements PartitionReaderFactory {
    public PartitionReader createReader(InputPartition seat) {
      return new Reader(((Seat) seat).task);
    }
  }

  public static class Reader implements SupportsRealTimeRead {
    int task;

    public Reader(int task) {
      this.task = task;
    }

    public boolean next() {
      return false;
    }

    public Object get() {
      return new GenericInternalRow(new Object[] {Integer.valueOf(task)});
    }

    public void close() {}

    /** A class of Spark's own: the driver reads what tasks return without jars that were added. */
    public PartitionOffset getOffset() {
      return new ContinuousRecordPartitionOffset(task, 0);
    }

    public SupportsRealTimeRead.RecordStatus nextWithTimeout(Long timeoutMs)
        throws java.io.IOException {
      try {
        Thread.sleep(timeoutMs.longValue());
      } catch (InterruptedException stopped) {
        throw new java.io.IOException(stopped);
      }
      return SupportsRealTimeRead.RecordStatus.newStatusWithoutArrivalTime(false);
    }

    public SupportsRealTimeRead.RecordStatus nextWithTimeout(Long start, Long timeoutMs)
        throws java.io.IOException {
      return nextWithTimeout(timeoutMs);
    }
  }
}
