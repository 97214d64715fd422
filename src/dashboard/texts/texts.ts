/** The language of the page: that of the browser, if there are texts in it. */
import { createContext, useContext } from 'react';
import { en, type Texts } from './en.ts';

export const Language = createContext<Texts>(en);

export const useTexts = () => useContext(Language);
