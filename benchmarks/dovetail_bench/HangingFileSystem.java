import java.io.File;
import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;

/** File system of `drills`: the local one, but it hangs while the file `fs.hanging.mark` exists, for up to 60 s. */
public class HangingFileSystem extends RawLocalFileSystem {
  private static final long LONGEST_MS = 60000;

  @Override public String getScheme() { return "hanging"; }
  @Override public URI getUri() { return URI.create("hanging:///"); }
  @Override protected void checkPath(Path path) { }

  @Override public FSDataInputStream open(Path path, int buffer) throws IOException {
    hang();
    return super.open(path, buffer);
  }

  @Override public FileStatus[] listStatus(Path path) throws IOException {
    hang();
    return super.listStatus(path);
  }

  @Override public FileStatus getFileStatus(Path path) throws IOException {
    hang();
    return super.getFileStatus(path);
  }

  private void hang() throws IOException {
    File mark = new File(getConf().get("fs.hanging.mark"));
    long end = System.currentTimeMillis() + LONGEST_MS;
    try {
      while (mark.exists() && System.currentTimeMillis() < end) Thread.sleep(20);
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }
}
