/** Secrets of endpoints: whether servers with these settings can open them. */
import { SecretBox } from '../domain/callbacks/secret-box.ts';
import { counted } from '../domain/values/counted.ts';
import { type Judgement, ok, oneLine, sick } from './finding.ts';
import type { Session } from './session.ts';

export async function checkSecrets(session: Session, keys: readonly Buffer[]): Promise<Judgement[]> {
  const rows = await session.query<{ name: string; stored: string }>(
    'select e.name, e.secret as stored from jobtree.callback_endpoint e order by e.name limit 1000',
  );
  const box = new SecretBox(keys);
  const [closed, plain] = [[] as string[], [] as string[]];
  for (const { name, stored } of rows) {
    const key = SecretBox.keyOf(stored);
    if (key === undefined) plain.push(name);
    else if (!box.has(key)) closed.push(name);
  }
  if (closed.length > 0)
    return [
      sick(
        `${counted(closed.length, 'secret')} of endpoints can't be opened: ${oneLine(closed.slice(0, 5).join(', '))}.`,
        'Callbacks to them fail. Put the key that sealed them into JOBTREE_SECRETS_KEY, or rotate their secrets.',
      ),
    ];
  if (rows.length === 0) return [];
  if (plain.length === 0) return [ok(`the secrets of all ${counted(rows.length, 'endpoint')} are sealed`)];
  return [
    ok(
      `${counted(plain.length, 'secret')} of endpoints ${plain.length === 1 ? 'is' : 'are'} not sealed (JOBTREE_SECRETS_KEY seals them)`,
    ),
  ];
}
