/**
 * Seals secrets that must be readable again, such as those that sign callbacks, so that the database alone does not reveal them:
 * AES-256-GCM, with a key that only servers have. If there are several keys, the first one seals and all of them open, so that
 * keys can be rotated.
 *
 * A sealed secret is `enc:`, the key's id, `:`, and base64 of the nonce, the tag and the text. It opens only for the name that it
 * was sealed for.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;
const form = /^enc:([0-9a-f]{8}):([A-Za-z0-9+/]+=*)$/;

export class SecretBox {
  readonly #keys: ReadonlyMap<string, Buffer>;
  readonly #current: string | undefined;

  /** Keys of 32 bytes. Without any, secrets are stored unsealed. */
  constructor(keys: readonly Buffer[]) {
    this.#keys = new Map(keys.map((key) => [idOf(key), key]));
    this.#current = keys[0] && idOf(keys[0]);
  }

  get seals(): boolean {
    return this.#current !== undefined;
  }

  seal(secret: string, name: string): string {
    const key = this.#current && this.#keys.get(this.#current);
    if (!key) return secret;
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(name));
    const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
    return `enc:${this.#current}:${Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64')}`;
  }

  /** @throws SealedError if it can't be opened */
  open(stored: string, name: string): string {
    const [, id, text] = form.exec(stored) ?? [];
    if (id === undefined || text === undefined) return stored;
    const key = this.#keys.get(id);
    if (key === undefined) throw new SealedError(`JOBTREE_SECRETS_KEY does not have the key ${id}`);
    const bytes = Buffer.from(text, 'base64');
    const tag = bytes.subarray(nonceBytes, nonceBytes + tagBytes);
    try {
      const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes), {
        authTagLength: tagBytes,
      })
        .setAAD(Buffer.from(name))
        .setAuthTag(tag);
      return (
        decipher.update(bytes.subarray(nonceBytes + tagBytes), undefined, 'utf8') + decipher.final('utf8')
      );
    } catch {
      throw new SealedError('it was changed, or is that of another endpoint');
    }
  }

  /** Whether it is sealed with the current key, or nothing is to be sealed. */
  isCurrent(stored: string): boolean {
    return this.#current === undefined || stored.startsWith(`enc:${this.#current}:`);
  }

  /** The id of the key that a stored secret needs; undefined if it is not sealed. */
  static keyOf(stored: string): string | undefined {
    return form.exec(stored)?.[1];
  }

  has(keyId: string): boolean {
    return this.#keys.has(keyId);
  }
}

export class SealedError extends Error {
  override readonly name = 'SealedError';
}

const idOf = (key: Buffer) => createHash('sha256').update(key).digest('hex').slice(0, 8);
