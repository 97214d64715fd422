/** With CI=true a test that does not run is a failure: a program that is missing there must not go unnoticed. */
import type { Reporter, TestCase, TestModule } from 'vitest/node';

/** What only some checkouts have. */
const mayBeSkipped = /^beside the release before \(/;

export class NoSkips implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (process.env.CI !== 'true') return;
    const skipped = modules.flatMap((module) => [...module.children.allTests('skipped')].filter(isMissing));
    if (skipped.length === 0) return;
    console.error(
      `With CI=true no test may be skipped:\n${skipped.map(({ fullName }) => `  ${fullName}`).join('\n')}`,
    );
    process.exitCode = 1;
  }
}

function isMissing({ fullName, parent }: TestCase): boolean {
  // What its own beforeAll failed for is reported already.
  const hasFailed = parent.type === 'suite' && parent.state() === 'failed';
  return !hasFailed && !mayBeSkipped.test(fullName);
}
