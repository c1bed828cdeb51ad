"""A server that speaks PostgreSQL's protocol 3, so that whatever connects to PostgreSQL can ask under a policy.

All but the last three are free of I/O and threads: bytes and events go in, bytes and jobs come out.

    messages    the messages of the protocol, as values
    codec       bytes to messages of clients, messages of the server to bytes
    refusals    errors of the protocol, with PostgreSQL's SQLSTATEs
    scram       passwords: verifiers, SCRAM-SHA-256 with and without channel binding
    connection  one connection until it may ask: encryption, login, limits; then its requests
    lexer       PostgreSQL's words, strings and comments
    utility     statements that are no queries: BEGIN, SET, FETCH, COPY, ...
    commands    text to such statements
    settings    what SET sets and SHOW shows
    transaction what BEGIN, COMMIT, SAVEPOINT mean where nothing can be undone
    types       values in: parameters; values out: columns of an answer
    copying     the rows of COPY
    asking      one analyst's questions: described, answered, explained
    catalogue   what is known without asking: the budget, the tables, the server
    feedback    what an answer cost, in words
    backend     answers the requests of one connection
    tls         encryption over buffers
    line        a socket, encrypted or not
    conversation
                the requests of one connection, its jobs in threads, cancelled or in time
    server      listening, letting in, limits
"""
