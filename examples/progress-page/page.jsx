import { useJobProgress } from 'jobtree-client/react';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';

/** Asks the application's own server, which knows the user by their session. */
async function post(path) {
  const response = await fetch(path, { method: 'POST' });
  const body = await response.json();
  if (!response.ok) throw new Error(body.error);
  return body;
}

function ImportBar({ jobId }) {
  const token = async () => (await post(`/imports/${jobId}/token`)).token;
  const { progress, error } = useJobProgress(jobId, { url: JOBTREE_URL, token });
  if (error) return <p role="alert">{error.message}</p>;
  return (
    <label>
      <span>{progress?.message ?? 'Waiting for job to start…'}</span>
      <progress max={100} value={progress ? (progress.percent ?? undefined) : 0} />
    </label>
  );
}

function Page() {
  const [jobIds, setJobIds] = useState([]);
  const [problem, setProblem] = useState();
  const start = async () => {
    try {
      const { id } = await post('/imports');
      setJobIds((before) => [...before, id]);
      setProblem(undefined);
    } catch (error) {
      setProblem(error.message);
    }
  };
  return (
    <main>
      <h1>Imports</h1>
      <button type="button" onClick={start}>
        Import the addresses
      </button>
      {problem && <p role="alert">{problem}</p>}
      {jobIds.map((id) => (
        <ImportBar key={id} jobId={id} />
      ))}
    </main>
  );
}

createRoot(document.getElementById('page')).render(<Page />);
