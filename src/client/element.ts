/// <reference lib="dom" preserve="true" />
/**
 * jobtree-client/element: `<jobtree-progress>`, a bar that shows how far a tree is, in any page and with any framework or none. Importing the module
 * defines the element. It has a style sheet of its own and no inline styles, so it works under a strict Content-Security-Policy.
 */
import type { Token } from './credentials.ts';
import type { JobtreeError } from './errors.ts';
import { labelIn, languageOf, wordsIn } from './progress-words.ts';
import { join, stateOf, type WatchState } from './shared-watches.ts';
import type { JobTreeProgress } from './types.ts';
import { watchTree } from './watches.ts';

export { type ClientErrorCode, JobtreeError } from './errors.ts';
export type { JobTreeProgress, Token };

const css = `
:host { display: block; color-scheme: inherit; font-variant-numeric: tabular-nums;
  --_rest: var(--jobtree-rest, color-mix(in srgb, currentColor 18%, transparent)) }
:host([hidden]) { display: none }
[part=bar] { display: flex; block-size: var(--jobtree-size, .5rem); overflow: hidden;
  border-radius: var(--jobtree-radius, .25rem); background: var(--_rest) }
[part=bar][data-open] { background: repeating-linear-gradient(-45deg, var(--_rest) 0 4px, transparent 4px 8px) }
[part=bar] span { transition: inline-size .3s }
[part=succeeded] { background: var(--jobtree-succeeded, light-dark(#1a7f37, #57c26f)) }
[part=failed] { background: repeating-linear-gradient(45deg,
  var(--jobtree-failed, light-dark(#c01c28, #ff7b72)) 0 3px, transparent 3px 5px) }
[part=cancelled] { background: repeating-linear-gradient(90deg,
  var(--jobtree-cancelled, light-dark(#6e7781, #8b949e)) 0 2px, transparent 2px 4px) }
[part=text] { display: block; font-size: .875em }
[part=error] { display: block; color: var(--jobtree-failed, light-dark(#c01c28, #ff7b72)) }
[part=error]:empty { display: none }
@media (prefers-reduced-motion: reduce) { [part=bar] span { transition: none } }
@media (forced-colors: active) { [part=bar] { border: 1px solid; forced-color-adjust: none } }
`;
const parts = ['succeeded', 'failed', 'cancelled'] as const;

let sheet: CSSStyleSheet | undefined;

/** Modules are imported during server-side rendering, too, where there are no elements. */
const Base = (globalThis.HTMLElement ?? class {}) as typeof HTMLElement;

/** What the element dispatches; none of the events bubbles. */
export interface JobtreeProgressEvents {
  /** A newer state. */
  progress: CustomEvent<JobTreeProgress>;
  /** The final state: all jobs of the tree are complete. */
  complete: CustomEvent<JobTreeProgress>;
  /** Why nothing more comes: there is no such tree, or the server refuses the token for good. */
  error: CustomEvent<JobtreeError>;
  /** The server is away: what is shown is of this time. */
  disconnected: CustomEvent<Date>;
  /** The server is back. */
  connected: CustomEvent<null>;
}

export class JobtreeProgress extends Base {
  static readonly observedAttributes = ['url', 'tree', 'token', 'label', 'lang'];

  #token: Token | undefined;
  #format: ((progress: JobTreeProgress) => string) | undefined;
  #state: WatchState<JobTreeProgress> = {};
  #isStale = false;
  #leave: (() => void) | undefined;

  /** The address of the API, which may be relative to the page. Default: `/graphql`. */
  get url(): string {
    return this.getAttribute('url') ?? '/graphql';
  }
  set url(url: string) {
    this.setAttribute('url', url);
  }

  /** The id of the root of the tree: `Job:…`. Without one, nothing is shown. */
  get tree(): string | null {
    return this.getAttribute('tree');
  }
  set tree(id: string) {
    this.setAttribute('tree', id);
  }

  /** A watch token, or a function that gets one, which is called again when a token ends. Default: the attribute `token`, if any. */
  get token(): Token | undefined {
    return this.#token ?? this.getAttribute('token') ?? undefined;
  }
  set token(token: Token | undefined) {
    // Another function is only asked later; whether there is a token decides about the connection.
    const isOther = typeof token !== 'function' || typeof this.#token !== 'function';
    this.#token = token;
    if (isOther) this.#restart();
  }

  /** Says a state in words. Default: such as `12 of 40 items, 30%`, in the language of the element. */
  get format(): (progress: JobTreeProgress) => string {
    return this.#format ?? wordsIn(this.#language);
  }
  set format(format: ((progress: JobTreeProgress) => string) | undefined) {
    this.#format = format;
    this.#show();
  }

  /** The state that is shown; undefined until the first one arrives. */
  get progress(): JobTreeProgress | undefined {
    return this.#state.progress;
  }

  /** Why nothing more comes; undefined while the tree is watched. */
  get error(): JobtreeError | undefined {
    return this.#state.error;
  }

  /** Since when the server has been away; undefined while what is shown is live. */
  get disconnectedAt(): Date | undefined {
    return this.#state.disconnectedAt;
  }

  /** Of its attribute `lang`, or the nearest one around it, also outside of shadow trees; without any, of the reader's browser. */
  get #language(): string {
    let around: Element | undefined = this;
    for (; around !== undefined; around = (around.getRootNode() as Partial<ShadowRoot>).host) {
      const lang = around.closest('[lang]')?.getAttribute('lang');
      if (lang) return languageOf([lang]);
    }
    return languageOf(navigator.languages);
  }

  connectedCallback(): void {
    // Set before the element was defined, properties hide those of the class.
    for (const name of ['url', 'tree', 'token', 'format'] as const) {
      if (!Object.hasOwn(this, name)) continue;
      const value = this[name];
      delete (this as Partial<Record<typeof name, unknown>>)[name];
      (this as Record<typeof name, unknown>)[name] = value;
    }
    if (this.shadowRoot === null) this.#build();
    this.#show();
    this.#restart();
  }

  #build(): void {
    if (sheet === undefined) {
      sheet = new CSSStyleSheet();
      sheet.replaceSync(css);
    }
    const part = (tag: string, name: string, role?: string) => {
      const element = document.createElement(tag);
      element.setAttribute('part', name);
      if (role !== undefined) element.setAttribute('role', role);
      return element;
    };
    const bar = part('div', 'bar', 'progressbar');
    bar.append(...parts.map((name) => part('span', name)));
    const root = this.attachShadow({ mode: 'open' });
    root.adoptedStyleSheets = [sheet];
    root.append(bar, part('span', 'text'), part('span', 'error', 'alert'));
  }

  disconnectedCallback(): void {
    this.#leave?.();
    this.#leave = undefined;
  }

  attributeChangedCallback(name: string): void {
    if (name === 'label' || name === 'lang') this.#show();
    else this.#restart();
  }

  /** Once for all attributes that change together. */
  #restart(): void {
    if (this.#isStale || !this.isConnected) return;
    this.#isStale = true;
    queueMicrotask(() => {
      this.#isStale = false;
      const leave = this.#leave;
      this.#leave = undefined;
      if (this.isConnected) this.#begin();
      // Only now, so that what goes on keeps its connection.
      leave?.();
    });
  }

  #begin(): void {
    this.#state = {};
    this.#show();
    const { url, tree } = this;
    if (tree === null || tree === '') return;
    const element = this;
    // Asked each time, since a page may set another token.
    const token = {
      get current() {
        return element.token;
      },
    };
    const isAsked = this.token !== undefined;
    const watched = { url, isAsked, rootId: tree, id: tree, kind: 'tree' as const, begin: watchTree };
    const take = () => this.#take(stateOf(watched));
    this.#leave = join(watched, token, take);
    take();
  }

  #take(state: WatchState<JobTreeProgress>): void {
    const before = this.#state;
    this.#state = state;
    this.#show();
    const { progress, error, disconnectedAt } = state;
    if (disconnectedAt !== undefined && before.disconnectedAt === undefined)
      this.#tell('disconnected', disconnectedAt);
    else if (disconnectedAt === undefined && before.disconnectedAt !== undefined)
      this.#tell('connected', null);
    if (progress !== undefined && progress !== before.progress) {
      this.#tell('progress', progress);
      if (progress.complete) this.#tell('complete', progress);
    }
    if (error !== undefined && error !== before.error) this.#tell('error', error);
  }

  #tell(name: keyof JobtreeProgressEvents, detail: unknown): void {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  #show(): void {
    const root = this.shadowRoot;
    if (root === null) return;
    const part = (name: string) => root.querySelector<HTMLElement>(`[part=${name}]`) as HTMLElement;
    const { progress, error } = this.#state;
    const bar = part('bar');
    const text = progress === undefined ? '' : this.format(progress);
    bar.ariaLabel = this.getAttribute('label') ?? labelIn(this.#language);
    bar.ariaValueNow = progress?.percent == null ? null : String(progress.percent);
    bar.ariaValueText = text === '' ? null : text;
    bar.toggleAttribute('data-open', progress !== undefined && progress.percent == null);
    for (const name of parts) {
      const share = progress === undefined ? 0 : progress[name] / Math.max(progress.itemCount, 1);
      part(name).style.inlineSize = `${100 * share}%`;
    }
    setText(part('text'), text);
    setText(part('error'), error?.message ?? '');
  }

  declare addEventListener: HTMLElement['addEventListener'] &
    (<K extends keyof JobtreeProgressEvents>(
      type: K,
      listener: (event: JobtreeProgressEvents[K]) => void,
      options?: boolean | AddEventListenerOptions,
    ) => void);
}

/** What is said again would be read aloud again. */
function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

declare global {
  interface HTMLElementTagNameMap {
    'jobtree-progress': JobtreeProgress;
  }
}

globalThis.customElements?.define('jobtree-progress', JobtreeProgress);
