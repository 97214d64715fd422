/** Loaded into every process of `jobtree start --processes`: those after the first can't start. */
import cluster from 'node:cluster';

const faults = {
  settings: () => {
    process.env.JOBTREE_PORT = 'abc';
  },
  death: () => process.kill(process.pid, 'SIGKILL'),
  // Six times, with the exit code for a Postgres that is out of reach.
  unreachable: (id) => id <= 7 && process.exit(5),
};
if (cluster.isWorker && cluster.worker.id > 1) faults[process.env.START_FAULT](cluster.worker.id);
