/** What processes have used, from /proc; only Linux has these figures. */
import { readdirSync, readFileSync } from 'node:fs';

const msPerTick = 10;

/** The CPU time of one process. */
export function cpuMs(pid: number): number | undefined {
  const fields = readStat(pid);
  return fields && (fields.user + fields.system) * msPerTick;
}

/** For how long the processors of the machine were busy, all together, with whatever it was. */
export function machineMs(): number | undefined {
  try {
    const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1);
    const [, user, nice, system, , , irq, softirq] = line.split(/ +/).map(Number);
    return [user, nice, system, irq, softirq].reduce<number>((sum, ticks = 0) => sum + ticks, 0) * msPerTick;
  } catch {
    return undefined;
  }
}

/** The CPU time of a process, its living children, and the children that it has outlived. */
export function familyCpuMs(pid: number): number | undefined {
  while (true) {
    const head = readStat(pid);
    if (head === undefined) return undefined;
    let ticks = head.user + head.system + head.waitedFor;
    for (const name of readdirSync('/proc')) {
      const fields = /^\d+$/.test(name) ? readStat(Number(name)) : undefined;
      if (fields?.parent === pid) ticks += fields.user + fields.system;
    }
    // If a child has ended meanwhile, it was counted twice or not at all: reads again.
    if (readStat(pid)?.waitedFor === head.waitedFor) return ticks * msPerTick;
  }
}

/** Resident memory in MB: now, and at its peak. */
export function memory(pid: number): { now: number; peak: number } | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const read = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024;
    const figures = { now: read('VmRSS'), peak: read('VmHWM') };
    return Number.isNaN(figures.peak) ? undefined : figures;
  } catch {
    return undefined;
  }
}

/** What the system buffers for all TCP connections of the machine, in MB: sent, but not read. */
export function socketBuffers(): number {
  try {
    const pages = /^TCP: .* mem (\d+)/m.exec(readFileSync('/proc/net/sockstat', 'utf8'))?.[1];
    return (Number(pages) * 4096) / 1024 / 1024;
  } catch {
    return Number.NaN;
  }
}

function readStat(pid: number) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    const [, parent, ...rest] = fields;
    const [user, system, childUser, childSystem] = rest.slice(9).map(Number) as [
      number,
      number,
      number,
      number,
    ];
    return { parent: Number(parent), user, system, waitedFor: childUser + childSystem };
  } catch {
    return undefined;
  }
}
