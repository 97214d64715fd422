/** Loaded into every process of `jobtree start --processes`: those after the first can't start. */
import cluster from 'node:cluster';

if (cluster.isWorker && cluster.worker.id > 1) {
  if (process.env.START_FAULT === 'settings') process.env.JOBTREE_PORT = 'abc';
  else process.kill(process.pid, 'SIGKILL');
}
