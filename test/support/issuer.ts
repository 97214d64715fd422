/** A real issuer of tokens by OpenID Connect, on this machine: whoever signs in there says only who they are. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import Provider from 'oidc-provider';
import { freePort } from './ports.ts';

export const clientId = 'dashboard';
export const audience = 'jobtree';
const hour = 3_600;

export interface Issuer {
  readonly url: string;
  /** The settings of a server that trusts it. */
  readonly settings: Record<string, string>;
  /** By subject; others have none. */
  readonly roles: Map<string, readonly string[]>;
  /** Another origin of it, where its tokens are made from now on; undefined for its own. */
  tokensAt: string | undefined;
  /** On another port. */
  readonly elsewhere: string;
  /** How long the tokens that it makes from now on are valid, in seconds. */
  tokenSeconds: number;
  /** Whether it gives refresh tokens from now on. */
  givesRefreshTokens: boolean;
  close(): Promise<void>;
}

/** `pages` are those that people are sent back to. */
export async function startIssuer(pages: readonly string[]): Promise<Issuer> {
  const port = await freePort();
  const otherPort = await freePort();
  // Another host than the server, so that their cookies are apart.
  const url = `http://localhost:${port}`;
  const roles = new Map<string, readonly string[]>([['ada', ['admin']]]);
  const provider = new Provider(url, {
    clients: [
      {
        client_id: clientId,
        token_endpoint_auth_method: 'none',
        redirect_uris: pages,
        post_logout_redirect_uris: pages,
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      },
    ],
    clientBasedCORS: (_: unknown, origin: string) => pages.some((page) => new URL(page).origin === origin),
    ttl: {
      AccessToken: () => issuer.tokenSeconds,
      Grant: hour,
      IdToken: hour,
      Interaction: hour,
      RefreshToken: hour,
      Session: hour,
    },
    cookies: { keys: ['of the test'] },
    findAccount: (_: unknown, sub: string) => ({
      accountId: sub,
      claims: () => ({ sub, jobtree_roles: roles.get(sub) }),
    }),
    // In id tokens, too.
    claims: { openid: ['sub', 'jobtree_roles'] },
    conformIdTokenClaims: false,
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/sign-in/${uid}` },
    issueRefreshToken: () => issuer.givesRefreshTokens,
    // Everybody is asked who they are, and nobody what the dashboard may do.
    loadExistingGrant: (context: GrantContext) => grantAll(context),
    extraTokenClaims: (_: unknown, { accountId }: { accountId: string }) => ({
      jobtree_roles: roles.get(accountId),
    }),
    features: {
      devInteractions: { enabled: false },
      revocation: { enabled: true },
      rpInitiatedLogout: { enabled: true, logoutSource: showSignOut },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: '',
          audience,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  });
  provider.use(async (context, next) => {
    await next();
    if (context.path === '/.well-known/openid-configuration' && issuer.tokensAt !== undefined)
      context.body.token_endpoint = `${issuer.tokensAt}/token`;
  });
  const answer = provider.callback();
  const other = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => other.listen(otherPort, '127.0.0.1', resolve));
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/sign-in/')) void showSignIn(provider, request, response);
    else answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const issuer: Issuer = {
    url,
    elsewhere: `http://localhost:${otherPort}`,
    tokensAt: undefined,
    roles,
    tokenSeconds: hour,
    givesRefreshTokens: true,
    settings: {
      JOBTREE_AUTH: 'jwt',
      JOBTREE_JWT_ISSUER: url,
      JOBTREE_JWT_AUDIENCE: audience,
      JOBTREE_JWT_JWKS_URL: `${url}/jwks`,
      JOBTREE_JWT_CLOCK_SKEW_SECONDS: '0',
      JOBTREE_DASHBOARD_CLIENT_ID: clientId,
      JOBTREE_DASHBOARD_SIGN_IN_PARAMETERS: `resource=${encodeURIComponent('https://jobtree.example')}`,
    },
    close: async () => {
      for (const one of [server, other]) {
        const closed = new Promise((resolve) => one.close(resolve));
        one.closeAllConnections();
        await closed;
      }
    },
  };
  return issuer;
}

/** `?name=ada` signs in, `?name=` refuses. */
async function showSignIn(provider: Provider, request: IncomingMessage, response: ServerResponse) {
  const name = new URL(request.url ?? '', 'http://issuer').searchParams.get('name');
  if (name === null)
    response.setHeader('content-type', 'text/html').end(
      `<!doctype html><html lang="en"><title>Issuer</title><link rel="icon" href="data:,"><form>
      <label>Name <input name="name"></label><button>Continue</button></form></html>`,
    );
  else
    await provider.interactionFinished(
      request,
      response,
      name === ''
        ? { error: 'access_denied', error_description: 'You are not known here' }
        : { login: { accountId: name } },
    );
}

interface GrantContext {
  readonly oidc: {
    readonly client: { readonly clientId: string };
    readonly session: { readonly accountId: string };
    readonly provider: { Grant: new (of: { clientId: string; accountId: string }) => Grant };
  };
}
interface Grant {
  addOIDCScope(scope: string): void;
  addResourceScope(resource: string, scope: string): void;
  save(): Promise<string>;
}

async function grantAll({ oidc: { client, session, provider } }: GrantContext): Promise<Grant> {
  const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
  grant.addOIDCScope('openid');
  grant.addResourceScope('https://jobtree.example', '');
  await grant.save();
  return grant;
}

function showSignOut(context: { body: string }, form: string): void {
  context.body = `<!doctype html><html lang="en"><title>Issuer</title>${form}
    <button form="op.logoutForm" name="logout" value="yes">Sign out here</button></html>`;
}
