/**
 * Signs people in at the issuer of tokens: OpenID Connect, by authorization code with PKCE. The browser goes to the issuer, which sends it back to this
 * page with a code; only this tab can change that for tokens.
 */
import {
  AuthorizationResponseError,
  type AuthorizationServer,
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  calculatePKCECodeChallenge,
  discoveryRequest,
  generateRandomCodeVerifier,
  generateRandomNonce,
  generateRandomState,
  JWT_CLAIM_COMPARISON,
  None,
  OperationProcessingError,
  processAuthorizationCodeResponse,
  processDiscoveryResponse,
  processRefreshTokenResponse,
  ResponseBodyError,
  refreshTokenGrantRequest,
  revocationRequest,
  type TokenEndpointResponse,
  validateAuthResponse,
} from 'oauth4webapi';
import { messageOf } from './message-of.ts';
import { type Session, signInWays } from './sign-in-ways.ts';

/** Why nobody is signed in; its words are in the texts. */
export type Problem =
  | { readonly kind: 'unknown' | 'insecure' | 'popup' | 'state' | 'nonce' | 'noToken' }
  | { readonly kind: 'unreachable' | 'refused' | 'invalid' | 'server' | 'key'; readonly detail: string };

export class SignInError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem, options?: ErrorOptions) {
    super(problem.kind, options);
    this.problem = problem;
  }
}

/** A sign-in that this tab has begun. */
interface Pending {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** The fragment of the page where it began. */
  readonly from: string;
}

const pendingKey = 'jobtree-sign-in';
const client = { client_id: signInWays.openId?.clientId ?? '' };
/** The only thing that can be sent back to: fragments may not be part of it. */
const here = `${location.origin}${location.pathname}`;
const issuer = new URL(signInWays.openId?.issuer ?? location.href);
/** The server allows http only for issuers on this machine. */
const insecure = { [allowInsecureRequests]: issuer.protocol === 'http:' };
const parameters = new URLSearchParams(signInWays.openId?.parameters);
let known: Promise<AuthorizationServer> | undefined;

async function discover(): Promise<AuthorizationServer> {
  // Without a secure context there is no crypto.subtle, and others could read the code on its way.
  if (!isSecureContext) throw new SignInError({ kind: 'insecure' });
  known ??= discoveryRequest(issuer, insecure).then((response) => processDiscoveryResponse(issuer, response));
  try {
    return await known;
  } catch (error) {
    known = undefined;
    throw explain(error);
  }
}

/** Leaves the page for the issuer's. */
export async function begin(from: string): Promise<void> {
  const { authorization_endpoint: endpoint } = await discover();
  if (endpoint === undefined) throw new SignInError({ kind: 'invalid', detail: 'authorization_endpoint' });
  const pending: Pending = {
    state: generateRandomState(),
    nonce: generateRandomNonce(),
    verifier: generateRandomCodeVerifier(),
    from,
  };
  const url = new URL(endpoint);
  const asked = {
    client_id: client.client_id,
    redirect_uri: here,
    response_type: 'code',
    scope: signInWays.openId?.scope ?? 'openid',
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: await calculatePKCECodeChallenge(pending.verifier),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of [...parameters, ...Object.entries(asked)]) url.searchParams.set(name, value);
  sessionStorage.setItem(pendingKey, JSON.stringify(pending));
  location.assign(url);
}

/** What this tab had begun, if it had. Good for one answer. */
export function takePending(): Pending | undefined {
  const kept = sessionStorage.getItem(pendingKey);
  sessionStorage.removeItem(pendingKey);
  return kept === null ? undefined : JSON.parse(kept);
}

/** The session of the issuer's answer, which is in the URL. */
export async function complete(pending: Pending | undefined, answer: URLSearchParams): Promise<Session> {
  if (pending === undefined) throw new SignInError({ kind: 'unknown' });
  if (answer.get('state') !== pending.state) throw new SignInError({ kind: 'state' });
  const server = await discover();
  try {
    const code = validateAuthResponse(server, client, answer, pending.state);
    const response = await authorizationCodeGrantRequest(
      server,
      client,
      None(),
      code,
      here,
      pending.verifier,
      {
        ...insecure,
        additionalParameters: parameters,
      },
    );
    const tokens = await processAuthorizationCodeResponse(server, client, response, {
      expectedNonce: pending.nonce,
      requireIdToken: true,
    });
    return toSession(tokens);
  } catch (error) {
    throw explain(error);
  }
}

export async function renew({ openId }: Session): Promise<Session> {
  const server = await discover();
  const response = await refreshTokenGrantRequest(server, client, None(), openId?.refreshToken ?? '', {
    ...insecure,
    additionalParameters: parameters,
  });
  return toSession(await processRefreshTokenResponse(server, client, response), openId);
}

function toSession(tokens: TokenEndpointResponse, last?: Session['openId']): Session {
  const { id_token: idToken, refresh_token: refreshToken, access_token: accessToken } = tokens;
  const token = signInWays.openId?.usesIdToken ? idToken : accessToken;
  if (token === undefined) throw new SignInError({ kind: 'noToken' });
  return {
    token,
    openId: { idToken: idToken ?? last?.idToken, refreshToken: refreshToken ?? last?.refreshToken },
  };
}

/** Signs out at the issuer, too, if it has a page for that; that page then leads back to this one. */
export async function endSession({ openId }: Session): Promise<void> {
  // What was on the screen must not come back with the button of the browser.
  addEventListener('pageshow', ({ persisted }) => persisted && location.reload());
  try {
    const server = await discover();
    if (server.revocation_endpoint !== undefined && openId?.refreshToken !== undefined)
      await revocationRequest(server, client, None(), openId.refreshToken, insecure);
    if (server.end_session_endpoint === undefined) return;
    const url = new URL(server.end_session_endpoint);
    const asked = { client_id: client.client_id, post_logout_redirect_uri: here };
    for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
    if (openId?.idToken !== undefined) url.searchParams.set('id_token_hint', openId.idToken);
    location.assign(url);
    // The page stays until the issuer's has come.
    await new Promise(() => {});
  } catch {
    // Signed out here all the same.
  }
}

/** Signs in in a window of its own, so that this page stays as it is. Called by a click, or the browser opens no window. */
export function signInBeside(): Promise<Session> {
  const name = crypto.randomUUID();
  const channel = new BroadcastChannel(name);
  return new Promise<Session>((resolve, reject) => {
    channel.onmessage = ({ data }: MessageEvent<Session | { problem: Problem }>) => {
      channel.close();
      if ('problem' in data) reject(new SignInError(data.problem));
      else resolve(data);
    };
    // In the fragment, which nobody else sees.
    if (window.open(`${here}#${besidePrefix}${name}`, '_blank', 'popup,width=480,height=640') === null)
      reject(new SignInError({ kind: 'popup' }));
  });
}

/** The fragment of such a window, before the name of the channel on which it answers. */
export const besidePrefix = 'sign-in=';

/** In words that people can do something with, as far as possible. */
function explain(error: unknown): SignInError {
  const fail = (problem: Problem) => new SignInError(problem, { cause: error });
  if (error instanceof SignInError) return error;
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError)
    return fail({
      kind: 'refused',
      detail: [error.error, error.error_description].filter(Boolean).join(': '),
    });
  if (error instanceof OperationProcessingError && error.code === JWT_CLAIM_COMPARISON)
    if ((error.cause as { claim?: unknown } | undefined)?.claim === 'nonce') return fail({ kind: 'nonce' });
  // fetch throws nothing else.
  if (error instanceof TypeError) return fail({ kind: 'unreachable', detail: issuer.host });
  return fail({ kind: 'invalid', detail: messageOf(error) });
}
