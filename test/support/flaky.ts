/** Says at the end which tests passed only when they were tried again (`--retry`): each has a fault, in the product or in what it waits for. */
import type { Reporter, TestModule } from 'vitest/node';

export class Flaky implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const flaky = modules
      .flatMap((module) => [...module.children.allTests('passed')])
      .filter((test) => test.diagnostic()?.flaky);
    if (flaky.length === 0) return;
    console.error(
      `Passed only when tried again:\n${flaky.map(({ fullName }) => `  ${fullName}`).join('\n')}`,
    );
  }
}
