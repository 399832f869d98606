// proxy/beast_impl.cpp - Beast's own functions and Asio's for TLS, compiled once.
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
