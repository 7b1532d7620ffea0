// Graphile Worker: the settings of its own performance page, jobs queued by `addJobs`.
//
// From its docs, "Performance": concurrentJobs 24, maxPoolSize 25, localQueue of 500, completeJobBatchDelay 0,
// failJobBatchDelay 0. A longer local queue (2,000) is measured as well. Finished jobs are deleted, always.
// A killed worker's job is locked for four hours.
// It speaks the protocol of peer_protocol.py: JSON, one object a line.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const load = createRequire(process.env.PEER_HOME + "/");
const { makeWorkerUtils, run, Logger } = load("graphile-worker");

const TICK_MS = 20;
const HOLD_MS = 3_600_000;
const CHUNK = 10_000;
const connectionString = process.env.PEER_URL;
const logger = new Logger(() => () => {});
const TUNED = {
  concurrentJobs: Number(process.env.GW_JOBS ?? 24),
  maxPoolSize: Number(process.env.GW_POOL ?? 25),
  localQueue: { size: Number(process.env.GW_LOCAL ?? 500) },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
};

const say = (what) => process.stdout.write(JSON.stringify(what) + "\n");
const now = () => Math.round((performance.timeOrigin + performance.now()) * 1e6);
const payloads = (count) =>
  Array.from({ length: count }, (_, user) => ({ user, address: "someone@example.com", template: "welcome" }));

// Made where it is read at once: lines that arrive before somebody asks for them are lost.
const heard = () => createInterface({ input: process.stdin });

async function serveClient() {
  const utils = await makeWorkerUtils({ connectionString, logger });
  const obey = {
    setup: async () => {
      await utils.migrate();
      return { done: true };
    },
    bulk: async ({ kind, count }) => {
      const given = payloads(count);
      const started = performance.now();
      for (let start = 0; start < count; start += CHUNK) {
        await utils.addJobs(given.slice(start, start + CHUNK).map((payload) => ({ identifier: kind, payload })));
      }
      return { seconds: (performance.now() - started) / 1000 };
    },
    single: async ({ kind, count }) => {
      const calls = [];
      for (const payload of payloads(count)) {
        const started = now();
        await utils.addJob(kind, payload);
        calls.push([started, now()]);
      }
      return { calls };
    },
  };
  for await (const line of heard()) {
    const command = JSON.parse(line);
    say(await obey[command.do](command));
  }
  await utils.release();
}

async function serveWorker(mode) {
  const lines = heard();
  let ran = 0;
  let told = 0;
  let first = 0;
  const taskList = {
    noop: async () => {
      first ||= now();
      ran += 1;
    },
    stamp: async () => say({ started: now(), kind: "stamp" }),
    hold: async () => {
      say({ started: now(), kind: "hold" });
      await new Promise((done) => setTimeout(done, HOLD_MS));
    },
  };
  say({ ready: true });
  await lines[Symbol.asyncIterator]().next();
  lines.on("close", () => process.exit(1));
  setInterval(() => {
    if (ran !== told) {
      told = ran;
      say({ ran, first });
    }
  }, TICK_MS);
  const preset = { worker: { connectionString, logger, ...(mode === "throughput" ? TUNED : {}) } };
  await run({ preset, taskList, noHandleSignals: true });
}

await (process.argv[2] === "client" ? serveClient() : serveWorker(process.argv[3]));
