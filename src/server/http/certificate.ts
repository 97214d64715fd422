/**
 * The TLS certificate and its key, from files that are read again every few seconds. A new pair applies to new connections; open ones go on. A
 * certificate and key that do not match, as while somebody is writing them, change nothing.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { SecureContextOptions, Server } from 'node:tls';
import type { Logger } from 'pino';
import { type Config, ConfigError } from '../../config/config.ts';

const lookEveryMs = 5_000;
const day = 86_400_000;
const warnBeforeMs = 14 * day;

interface Pair {
  readonly cert: string;
  readonly key: string;
}

export class Certificate {
  readonly #files: NonNullable<Config['tls']>;
  readonly #logger: Logger;
  readonly #everyMs: number;
  #pair: Pair | undefined;
  #endsAt = 0;
  #problem: string | undefined;
  #server: Pick<Server, 'setSecureContext'> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: { files: NonNullable<Config['tls']>; logger: Logger; everyMs?: number | undefined }) {
    this.#files = options.files;
    this.#logger = options.logger;
    this.#everyMs = options.everyMs ?? lookEveryMs;
  }

  /** Reads the files for the first time and gives the pair to this server. */
  async start(server: Pick<Server, 'setSecureContext'>): Promise<void> {
    this.#server = server;
    try {
      this.#use(await this.#read());
    } catch (error) {
      throw new ConfigError(
        `JOBTREE_TLS_CERT_FILE and JOBTREE_TLS_KEY_FILE can't be used: ${reasonOf(error)}`,
      );
    }
    this.#lookLater();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** What is wrong with the files or with the certificate in use; undefined if nothing is. */
  get problem(): string | undefined {
    if (this.#problem !== undefined) return this.#problem;
    const leftMs = this.#endsAt - Date.now();
    if (leftMs > warnBeforeMs) return undefined;
    const when = new Date(this.#endsAt).toISOString();
    return leftMs > 0 ? `the certificate expires at ${when}` : `the certificate expired at ${when}`;
  }

  #lookLater(): void {
    this.#timer = setTimeout(() => void this.#look(), this.#everyMs).unref();
  }

  async #look(): Promise<void> {
    try {
      const pair = await this.#read();
      if (pair.cert !== this.#pair?.cert || pair.key !== this.#pair.key) {
        this.#use(pair);
        this.#logger.info({ until: new Date(this.#endsAt) }, 'the new certificate is in use');
      }
      this.#problem = undefined;
    } catch (error) {
      const problem = `the new certificate can't be used: ${reasonOf(error)}`;
      // Each problem is logged once.
      if (problem !== this.#problem)
        this.#logger.warn({ reason: problem }, 'the previous certificate stays in use');
      this.#problem = problem;
    }
    if (this.#timer !== undefined) this.#lookLater();
  }

  async #read(): Promise<Pair> {
    const [cert, key] = await Promise.all([
      readFile(this.#files.certFile, 'utf8'),
      readFile(this.#files.keyFile, 'utf8'),
    ]);
    return { cert, key };
  }

  #use(pair: Pair): void {
    const certificate = new X509Certificate(pair.cert);
    if (!certificate.checkPrivateKey(createPrivateKey(pair.key)))
      throw new Error('the key does not belong to the certificate.');
    if (Date.parse(certificate.validTo) <= Date.now())
      throw new Error(`the certificate expired at ${new Date(certificate.validTo).toISOString()}.`);
    this.#server?.setSecureContext({ ...pair, ...secureOptions });
    this.#pair = pair;
    this.#endsAt = Date.parse(certificate.validTo);
  }
}

export const secureOptions: SecureContextOptions = { minVersion: 'TLSv1.2' };

/** Errors of OpenSSL name a place in its code and quote nothing; those of the file system name the file. */
function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
